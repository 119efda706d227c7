-- The extension is there, under the name that its control file says.
SELECT e.extname, e.extversion, n.nspname, d.description
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
JOIN pg_description d ON d.objoid = e.oid AND d.classoid = 'pg_extension'::regclass
WHERE e.extname = 'pg_lease';
