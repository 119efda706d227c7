-- The extension is there, under the name that its control file says.
\dx pg_lease
