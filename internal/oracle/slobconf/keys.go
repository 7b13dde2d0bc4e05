package slobconf

// key is one parameter of SLOB.
type key struct {
	name     string
	fallback string // what SLOB takes where slob.conf does not say
	// none says why it has no counterpart, for those that have none.
	none string
	// off are the values with which SLOB does not do what has no counterpart.
	off []string
	// secret values are not shown.
	secret bool
}

// keys are those of SLOB 2.5.4, in the order in which they are written.
func keys() []key {
	return []key{
		{name: "SCAN_PCT", fallback: "0"},
		{name: "THREADS_PER_SCHEMA", fallback: "1"},
		{name: "SCALE", fallback: "10000"},
		{name: "SCAN_TABLE_SZ", fallback: "1M"},
		{name: "WORK_UNIT", fallback: "256"},
		{name: "UPDATE_PCT", fallback: "25"},
		{name: "REDO_STRESS", fallback: "LITE"},
		{name: "LOAD_PARALLEL_DEGREE", fallback: "1"},
		{name: "OBFUSCATE_COLUMNS", fallback: "FALSE"},
		{name: "DATABASE_STATISTICS_TYPE", fallback: "statspack"},
		{name: "THINK_TM_FREQUENCY", fallback: "0"},
		{name: "THINK_TM_MIN", fallback: ".1"},
		{name: "THINK_TM_MAX", fallback: ".5"},
		{name: "RUN_TIME", fallback: "300"},
		{name: "BLOCK_SZ", fallback: "8192"},
		{name: "WORK_LOOP", fallback: "0", off: []string{"0"}, none: "runs end by time: set run.durationSeconds"},
		{name: "DO_HOTSPOT", fallback: "FALSE", off: []string{"FALSE"}, none: "there are no hot spots"},
		{name: "HOTSPOT_MB"},
		{name: "HOTSPOT_OFFSET_MB"},
		{name: "HOTSPOT_FREQUENCY"},
		{name: "HOT_SCHEMA_FREQUENCY", fallback: "0", off: []string{"0"}, none: "there is no hot schema"},
		{name: "EXTERNAL_SCRIPT", off: []string{""}, none: "no script is called"},
		{name: "ADMIN_SQLNET_SERVICE", off: []string{""}, none: "it belongs into database.external.connectString, as host:port/service"},
		{name: "SQLNET_SERVICE_BASE", off: []string{""}, none: "it belongs into database.external.services, as host:port/service of each instance"},
		{name: "SQLNET_SERVICE_MAX", off: []string{"", "0"}, none: "list so many database.external.services"},
		{name: "DBA_PRIV_USER", off: []string{""}, none: "it belongs into the Secret of database.external.credentialsSecretRef"},
		{name: "SYSDBA_PASSWD", off: []string{""}, none: "it belongs into a Secret", secret: true},
		{name: "UNIQUE_INDEX"},
		{name: "NO_OS_PERF_DATA"},
		{name: "SLOB_TEMPDIR"},
		{name: "SLOB_DEBUG"},
	}
}
