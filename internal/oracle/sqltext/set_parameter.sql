/* nfsbench set_parameter */
-- releases: all
ALTER SYSTEM SET {{.Name}} = {{.Value}} SCOPE = SPFILE SID = '*'
