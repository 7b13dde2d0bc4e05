/* nfsbench awr_check */
-- releases: all
-- Compiles only where the session may execute the package, and takes no snapshot.
BEGIN
    IF FALSE THEN
        dbms_workload_repository.create_snapshot();
    END IF;
END;
