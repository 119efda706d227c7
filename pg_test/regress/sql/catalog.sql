-- Every object of the extension is described, and every function is declared as it must be.
CREATE VIEW members AS
SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'pg_lease';
CREATE VIEW functions AS
SELECT p.* FROM pg_proc p JOIN members m ON m.objid = p.oid AND m.classid = 'pg_proc'::regclass;
SELECT count(*) > 15 AS functions FROM functions;
-- a comment each: functions, tables and their columns, views, sequences, types, event triggers
SELECT p.oid::regprocedure AS without_comment FROM functions p
WHERE obj_description(p.oid, 'pg_proc') IS NULL;
SELECT pg_describe_object(classid, objid, 0) AS without_comment FROM members
WHERE obj_description(objid, classid::regclass::name) IS NULL
AND classid <> 'pg_type'::regclass AND pg_describe_object(classid, objid, 0) <> 'schema lease';
SELECT attrelid::regclass || '.' || attname AS without_comment
FROM pg_attribute a JOIN members m ON m.objid = a.attrelid AND m.classid = 'pg_class'::regclass
WHERE attrelid = 'lease.lease'::regclass AND attnum > 0
AND col_description(attrelid, attnum) IS NULL;
-- SECURITY DEFINER only with a fixed search_path that begins with pg_catalog and ends with pg_temp
SELECT p.oid::regprocedure, proconfig FROM functions p WHERE prosecdef ORDER BY 1;
-- what reads or writes leases never runs in a parallel worker, and is never folded into a constant
SELECT p.oid::regprocedure::text, provolatile, proparallel FROM functions p
WHERE proparallel <> 'u' OR provolatile <> 'v' ORDER BY 1;
-- a NULL must be refused, not answered with NULL: strict functions are those without an argument,
-- or
-- that nobody calls by hand
SELECT p.oid::regprocedure::text AS strict FROM functions p WHERE proisstrict ORDER BY 1;
-- every argument has a name, and no function has two forms
SELECT p.oid::regprocedure AS unnamed FROM functions p
WHERE pronargs > 0 AND (proargnames IS NULL OR '' = ANY (proargnames));
SELECT proname, count(*) FROM functions GROUP BY 1 HAVING count(*) > 1;
SELECT p.oid::regprocedure::text || coalesce(' -> ' || pg_get_function_result(p.oid), '') AS call,
       pg_get_function_arguments(p.oid) AS arguments
FROM functions p WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
-- public holds what people call, under names that begin with lease_
SELECT proname FROM functions
WHERE pronamespace = 'public'::regnamespace AND proname !~ '^(lease_|compute_now$)';
-- dumped: the rows that must survive
SELECT unnest(extconfig)::regclass AS dumped FROM pg_extension
WHERE extname = 'pg_lease' ORDER BY 1;
-- one index, on the name: none on what a renewal changes, so that it stays a heap-only update
SELECT indexrelid::regclass, indkey FROM pg_index
WHERE indrelid IN ('lease.lease'::regclass, 'lease.fence'::regclass) ORDER BY 1;
-- the event trigger fires always, and for no more than it needs
SELECT evtevent, evtenabled, evtfoid::regproc, unnest(evttags) AS tag
FROM pg_event_trigger WHERE evtname = 'pg_lease_cover' ORDER BY tag;
DROP VIEW functions, members;
