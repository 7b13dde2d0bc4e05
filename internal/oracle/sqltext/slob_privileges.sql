/* nfsbench slob_privileges */
-- releases: all
-- What the session may do. The role SELECT_CATALOG_ROLE is as good as SELECT ANY DICTIONARY.
SELECT p.privilege AS name
FROM session_privs p
UNION ALL
SELECT r.role AS name
FROM session_roles r
