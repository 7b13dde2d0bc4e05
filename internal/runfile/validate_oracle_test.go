package runfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
)

// wrong is one mistake in a plan that could run, and what is said of it.
type wrong struct {
	mutate func(*Plan)
	path   string
	fix    string
}

func refuses(t *testing.T, good func() Plan, cases map[string]wrong) {
	t.Helper()
	if p := good(); p.Validate() != nil {
		t.Fatalf("the plan to begin with: %v", p.Validate())
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := good()
			c.mutate(&p)
			err := p.Validate()
			var ps Problems
			if !errors.As(err, &ps) || len(ps) != 1 || ps[0].Path != c.path || !strings.Contains(ps[0].Fix, c.fix) {
				t.Errorf("problems = %v; want %s alone, with %q", err, c.path, c.fix)
			}
		})
	}
}

func TestAPlanHasExactlyOneLoad(t *testing.T) {
	t.Parallel()
	refuses(t, func() Plan { return oraclePlan(directPlan().Workload) }, map[string]wrong{
		"None":            {func(p *Plan) { p.Workload = bench.Workload{} }, "workload", "holds 0 loads; give exactly one"},
		"RawAndCalibrate": {func(p *Plan) { p.Workload.Calibrate = calibrate() }, "workload", "holds 2 loads"},
		"RawAndSLOB":      {func(p *Plan) { p.Workload.SLOB = slob(); native(p) }, "workload", "holds 2 loads"},
		"All":             {func(p *Plan) { p.Workload.SLOB, p.Workload.Calibrate = slob(), calibrate(); native(p) }, "workload", "holds 3 loads"},
		"RawInADatabase":  {inContainer, "database", "workload.raw is a load without a database"},
	})
}

func TestTheProblemsOfACalibrate(t *testing.T) {
	t.Parallel()
	in := func(change func(*bench.CalibrateWorkload)) func(*Plan) {
		return func(p *Plan) { change(p.Workload.Calibrate) }
	}
	const at = "workload.calibrate."
	refuses(t, func() Plan { return oraclePlan(bench.Workload{Calibrate: calibrate()}, native) }, map[string]wrong{
		"Disks":      {in(func(c *bench.CalibrateWorkload) { c.PhysicalDisks = -1 }), at + "physicalDisks", "from 1"},
		"Latency":    {in(func(c *bench.CalibrateWorkload) { c.MaxLatencyMilliseconds = 9 }), at + "maxLatencyMilliseconds", "from 10"},
		"Warmup":     {in(func(c *bench.CalibrateWorkload) { c.WarmupRuns = new(int32(-1)) }), at + "warmupRuns", "from 0"},
		"Count":      {in(func(c *bench.CalibrateWorkload) { c.NativeFiles.Count = 257 }), at + "nativeFiles.count", "from 1"},
		"SizeOdd":    {in(func(c *bench.CalibrateWorkload) { c.NativeFiles.Size = *bench.Bytes(1<<20 + 8192) }), at + "nativeFiles.size", "multiple of the size of an I/O (1048576)"},
		"BlockOdd":   {func(p *Plan) { p.BlockBytes = 8000 }, "blockBytes", "power of two"},
		"BlockSmall": {func(p *Plan) { p.BlockBytes = 1024 }, "blockBytes", "from 2048"},
		"BlockLarge": {func(p *Plan) { p.BlockBytes = 64 << 10 }, "blockBytes", "to 32768"},
		"LargeSmall": {func(p *Plan) { p.LargeReadBytes = 4096 }, "largeReadBytes", "less than one block"},
		"Directory":  {in(func(c *bench.CalibrateWorkload) { c.NativeFiles.Directory = "../x" }), at + "nativeFiles.directory", "name of one directory"},
	})
}

func TestTheProblemsOfASLOBLoad(t *testing.T) {
	t.Parallel()
	in := func(change func(*bench.SLOBWorkload)) func(*Plan) { return func(p *Plan) { change(p.Workload.SLOB) } }
	scan := in(func(s *bench.SLOBWorkload) {
		s.Access, s.UpdatePercent, s.Scale = bench.SLOBFullTableScan, 0, *bench.Bytes(1)
	})
	const at = "workload.slob."
	refuses(t, func() Plan { return oraclePlan(bench.Workload{SLOB: slob()}, inContainer) }, map[string]wrong{
		"Access":         {in(func(s *bench.SLOBWorkload) { s.Access = "Scan" }), at + "access", "FullTableScan, RandomRead"},
		"ManySteps":      {in(func(s *bench.SLOBWorkload) { s.Users = make65() }), at + "users", "write 1 to 32"},
		"NobodyAtWork":   {in(func(s *bench.SLOBWorkload) { s.Users[2] = 0 }), at + "users[2]", "from 1"},
		"Schemas":        {in(func(s *bench.SLOBWorkload) { s.Schemas = -1 }), at + "schemas", "from 1"},
		"Scale":          {in(func(s *bench.SLOBWorkload) { s.Scale = *bench.Bytes(1<<20 - 1) }), at + "scale", "at least 1048576"},
		"WorkUnit":       {in(func(s *bench.SLOBWorkload) { s.WorkUnit = 2 }), at + "workUnit", "from 3"},
		"WorkUnitTooBig": {in(func(s *bench.SLOBWorkload) { s.Scale, s.WorkUnit = *bench.Bytes(1 << 20), 129 }), at + "workUnit", "more than the 128 blocks"},
		"Update51":       {in(func(s *bench.SLOBWorkload) { s.UpdatePercent = 51 }), at + "updatePercent", "0 to 50, or 100"},
		"UpdateNegative": {in(func(s *bench.SLOBWorkload) { s.UpdatePercent = -1 }), at + "updatePercent", "from 0"},
		"UpdateScan":     {in(func(s *bench.SLOBWorkload) { s.Access = bench.SLOBFullTableScan }), at + "updatePercent", "only reads"},
		"Redo":           {in(func(s *bench.SLOBWorkload) { s.RedoStress = "LITE" }), at + "redoStress", "Lite, Heavy"},
		"ThinkNever":     {in(func(s *bench.SLOBWorkload) { s.Think.Frequency = 0 }), at + "think.frequency", "from 1"},
		"ThinkMinimum":   {in(func(s *bench.SLOBWorkload) { s.Think.MinimumMilliseconds = -1 }), at + "think.minimumMilliseconds", "from 0"},
		"ThinkSwapped":   {in(func(s *bench.SLOBWorkload) { s.Think.MaximumMilliseconds = 99 }), at + "think.maximumMilliseconds", "swap them"},
		"ThinkMaximum":   {in(func(s *bench.SLOBWorkload) { s.Think.MaximumMilliseconds = 60_001 }), at + "think.maximumMilliseconds", "from 1"},
		"ReadAhead":      {in(func(s *bench.SLOBWorkload) { s.ReadAhead = -1 }), at + "readAhead", "from 1"},
		"Degree":         {in(func(s *bench.SLOBWorkload) { s.LoadParallelDegree = -1 }), at + "loadParallelDegree", "from 1"},
		"Tablespace":     {in(func(s *bench.SLOBWorkload) { s.Tablespace = "x; drop user sys" }), at + "tablespace", "write letters, digits and _, such as NFSBENCH"},
		"LongTablespace": {in(func(s *bench.SLOBWorkload) { s.Tablespace = strings.Repeat("a", 31) }), at + "tablespace", "0 to 30"},
		"Kit":            {in(func(s *bench.SLOBWorkload) { s.Kit.ClaimName = "" }), at + "kit.directory", "absolute path"},
		"KitOutside":     {in(func(s *bench.SLOBWorkload) { s.Kit.Directory = "../../etc" }), at + "kit.directory", "absolute path"},
		"CapacityOfScans": {func(p *Plan) {
			scan(p)
			s := p.Workload.SLOB
			s.Users, s.Think, s.Kit, s.WorkLoop = []int32{8}, nil, nil, 0
			s.Capacity = capacityWithin(bench.ArrivalsFixed, LatencyBound{"p99", 1000})
		}, at + "access", "takes seconds"},
		"ScanTable": {func(p *Plan) { scan(p); p.Workload.SLOB.ScanTableSize = *bench.Bytes(1) }, at + "scanTableSize", "at least 1048576"},
	})
	refuses(t, func() Plan { return oraclePlan(bench.Workload{SLOB: slob()}, native) }, map[string]wrong{
		"WorkLoop":      {in(func(s *bench.SLOBWorkload) { s.WorkLoop = 1 }), at + "workLoop", "ends by time"},
		"AWR":           {in(func(s *bench.SLOBWorkload) { s.AWR = bench.Enabled }), at + "awr", "has no AWR"},
		"KitWithoutOne": {in(func(s *bench.SLOBWorkload) { s.Kit = &bench.SLOBKit{Directory: "/slob"} }), at + "kit", "runs in a database"},
		"ShortTimeout":  {func(p *Plan) { p.Schedule.TimeoutSeconds = 1099 - 1 }, "schedule.timeoutSeconds", "takes 1099 s"},
	})
}

func make65() []int32 {
	out := make([]int32, 65)
	for i := range out {
		out[i] = 1
	}
	return out
}

func redoOn(export, directory string) func(*Database) {
	return func(d *Database) { d.RedoExport, d.RedoDirectory = export, directory }
}

func TestTheProblemsOfADatabase(t *testing.T) {
	t.Parallel()
	in := func(change func(*Database)) func(*Plan) { return func(p *Plan) { change(p.Database) } }
	const at = "database."
	refuses(t, func() Plan { return oraclePlan(bench.Workload{SLOB: slob()}, inContainer) }, map[string]wrong{
		"Kind":          {in(func(d *Database) { d.Kind = "container" }), at + "kind", "Container, External"},
		"NoAdmin":       {in(func(d *Database) { d.AdminConnect = "" }), at + "adminConnect", "host:port/service"},
		"NoConnects":    {in(func(d *Database) { d.Connects = nil }), at + "connects", "write it"},
		"TNS":           {in(func(d *Database) { d.Connects[0] = "(DESCRIPTION=(ADDRESS=x))" }), at + "connects[0]", "names no HOST"},
		"NoService":     {in(func(d *Database) { d.AdminConnect = "localhost:1521" }), at + "adminConnect", "neither an EZConnect string"},
		"User":          {in(func(d *Database) { d.User = "" }), at + "user", "such as sys"},
		"UserPassword":  {in(func(d *Database) { d.User = "sys/secret" }), at + "user", "does not belong here"},
		"Role":          {in(func(d *Database) { d.Role = "DBA" }), at + "role", "SYSDBA"},
		"Declared":      {in(func(d *Database) { d.DirectNFS = false }), at + "directNFS", "the same of both"},
		"ParameterName": {in(func(d *Database) { d.Parameters["X y"] = "1" }), at + "parameters", `"X y" is no name`},
		"ParameterSQL":  {in(func(d *Database) { d.Parameters["sga_target"] = "1' scope=both--" }), at + "parameters.sga_target", "other characters"},
		"ParameterNone": {in(func(d *Database) { d.Parameters["sga_target"] = "" }), at + "parameters.sga_target", "or none"},
		"ParameterLong": {in(func(d *Database) { d.Parameters["sga_target"] = strings.Repeat("1", 513) }), at + "parameters.sga_target", "correct it"},
		"SID":           {in(func(d *Database) { d.SID = "ORCL-CDB" }), at + "sid", "letters and digits"},
		"LongSID":       {in(func(d *Database) { d.SID = "ORCLCDBORCLCD" }), at + "sid", "at most 12"},
		"OtherData":     {in(func(d *Database) { d.DataDirectory = "/u02" }), at + "dataDirectory", "the same of both"},
		"Startup":       {in(func(d *Database) { d.StartupTimeoutSeconds = 0 }), at + "startupTimeoutSeconds", "from 1"},
		"SmallRedo":     {in(func(d *Database) { d.RedoLogBytes = 1 << 20 }), at + "redoLogBytes", "from 67108864"},
		"RedoAlone":     {in(func(d *Database) { d.RedoExport = "/vol/redo" }), at + "redoDirectory", "absolute path"},
		"RedoNowhere":   {in(func(d *Database) { d.RedoDirectory = "/redo" }), at + "redoExport", "absolute path"},
		"RedoQuoted":    {in(redoOn("/vol/redo", "/redo'; DROP")), at + "redoDirectory", "letters, digits"},
		"RedoBelow":     {in(redoOn("/vol/redo", "/opt/oracle/oradata/redo")), at + "redoDirectory", "not apart"},
		"RedoAbove":     {in(redoOn("/vol/redo", "/opt")), at + "redoDirectory", "not apart"},
		"RedoSame":      {in(redoOn("/vol/data/.", "/redo")), at + "redoExport", "storage.export.redoPath"},
		"RedoInData":    {in(redoOn("/vol/data/redo", "/redo")), at + "redoExport", "storage.export.redoPath"},
		"DataInRedo":    {in(redoOn("/vol/", "/redo")), at + "redoExport", "storage.export.redoPath"},
		"RedoTab":       {in(redoOn("/vol/re do", "/redo")), at + "redoExport", "no path may have a blank"},
		"LargeUndo":     {in(func(d *Database) { d.UndoBytes = 1 << 40 }), at + "undoBytes", "to 68719476736"},
		"Clients":       {func(p *Plan) { p.Clients = 2 }, "clients", "loaded by one client"},
	})
	refuses(t, func() Plan { return oraclePlan(bench.Workload{SLOB: slob()}, inExternal) }, map[string]wrong{
		"Mounted":      {func(p *Plan) { p.Engine.MountPath = "/x" }, "engine.mountPath", "its own mounts"},
		"Parameters":   {in(func(d *Database) { d.Parameters = map[string]string{"a": "1"} }), at + "parameters", "left as it is"},
		"Restart":      {in(func(d *Database) { d.RestartBeforeRun = true }), at + "restartBeforeRun", "left as it is"},
		"Data":         {in(func(d *Database) { d.DataDirectory = "/u02/../etc" }), at + "dataDirectory", "an absolute path such as"},
		"Outside":      {in(func(d *Database) { d.DataDirectory, d.TablespaceDirectory = "/u02", "/u021" }), at + "tablespaceDirectory", "not on the export"},
		"MountUnknown": {in(func(d *Database) { d.TablespaceDirectory = "/u02" }), at + "tablespaceDirectory", "not on the export"},
		"Redo":         {in(func(d *Database) { d.RedoLogBytes = 1 << 30 }), at + "redoLogBytes", "left as it is"},
		"RedoExport":   {in(func(d *Database) { d.RedoExport = "/vol/redo" }), at + "redoExport", "left as it is"},
		"RedoMount":    {in(func(d *Database) { d.RedoDirectory = "/redo" }), at + "redoDirectory", "left as it is"},
		"Tablespace":   {in(func(d *Database) { d.TablespaceBytes = 1 << 30 }), at + "tablespaceBytes", "left as it is"},
		"Undo":         {in(func(d *Database) { d.UndoBytes = 1 << 30 }), at + "undoBytes", "left as it is"},
		"SIDOutside":   {in(func(d *Database) { d.SID = "ORCL" }), at + "sid", "left as it is"},
		"Startup":      {in(func(d *Database) { d.StartupTimeoutSeconds = 1 }), at + "startupTimeoutSeconds", "left as it is"},
	})
}

func TestWhatAnExistingDatabaseMountsIsNotAskedFor(t *testing.T) {
	t.Parallel()
	p := oraclePlan(bench.Workload{SLOB: slob()}, inExternal)
	p.Engine.Channels = nil // where no address is declared
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

func TestConnectStringsThatAreTaken(t *testing.T) {
	t.Parallel()
	tcps := "(DESCRIPTION=(CONNECT_TIMEOUT=15)(ADDRESS_LIST=(LOAD_BALANCE=on)(ADDRESS=(PROTOCOL=tcps)(HOST=scan.example)(PORT=2484)))" +
		`(SECURITY=(MY_WALLET_DIRECTORY=/opt/wallet)(SSL_SERVER_CERT_DN="cn=db1,o=x"))(CONNECT_DATA=(SERVICE_NAME=orcl.example)))`
	for _, s := range []string{
		"db1:1521/ORCL", "[fd00::2]:1521/x", "tcp://db1:1521/ORCL", "tcps://db1.example:2484/orcl?wallet_location=/opt/wallet&ssl_server_dn_match=on",
		tcps, strings.ToLower(tcps), "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=1.2.3.4)(PORT=1521))(CONNECT_DATA=(SID=ORCL)))",
	} {
		p := oraclePlan(bench.Workload{SLOB: slob()}, inExternal)
		p.Database.AdminConnect, p.Database.Connects = s, []string{s}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// The client does what a descriptor says: one with PROTOCOL=BEQ starts a program.
func TestConnectStringsThatDoMoreAreRefused(t *testing.T) {
	t.Parallel()
	const data = "(CONNECT_DATA=(SERVICE_NAME=x))"
	for s, fix := range map[string]string{
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=beq)(HOST=h))" + data + ")":                                 "neither tcp nor tcps",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(PROGRAM=/bin/sh)(HOST=h))" + data + ")":                "it has PROGRAM",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h))" + data:                                       "parentheses do not match",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h))" + data + "))":                                "after its last parenthesis",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h))" + data + ");id":                              "after its last parenthesis",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=$(id)))" + data + ")":                             "value of HOST",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h;id))" + data + ")":                              "value of HOST",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=\"a b\"))" + data + ")":                           "value of HOST",
		"(DESCRIPTION= (ADDRESS=(PROTOCOL=tcp)(HOST=h))" + data + ")":                                "value of DESCRIPTION",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(PORT=1521))" + data + ")":                              "names no HOST",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=" + strings.Repeat("h", 2048) + "))" + data + ")": "at most 2048",
		"(((((((":                         "parentheses do not match",
		"file://db1:1521/x":               "neither an EZConnect string",
		"tcps://scott/tiger@db1:2484/svc": "into the credentials",
	} {
		p := oraclePlan(bench.Workload{SLOB: slob()}, inExternal)
		p.Database.Connects = []string{s}
		var ps Problems
		if err := p.Validate(); !errors.As(err, &ps) || len(ps) != 1 || !strings.Contains(ps[0].Fix, fix) {
			t.Errorf("%.80s: %v, want %q", s, err, fix)
		}
	}
}

func TestAPasswordInAConnectStringIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"scott/tiger@db1:1521/ORCL", "tiger@db1:1521/ORCL", `scott/"tiger"@db1/ORCL`, "scott/tiger//db1:1521/ORCL", "'tiger'/x", "a tiger", "tiger",
	} {
		for _, admin := range []bool{true, false} {
			p := oraclePlan(bench.Workload{SLOB: slob()}, inExternal)
			want := "database.connects[1]"
			if admin {
				p.Database.AdminConnect, want = s, "database.adminConnect"
			} else {
				p.Database.Connects[1] = s
			}
			err := p.Validate()
			var ps Problems
			if !errors.As(err, &ps) || len(ps) != 1 || ps[0].Path != want {
				t.Errorf("%s: %v", s, err)
			}
			if err != nil && strings.Contains(err.Error(), "tiger") {
				t.Errorf("%s is repeated: %v", s, err)
			}
			if strings.Contains(s, "@") && err != nil && !strings.Contains(err.Error(), "into the credentials") {
				t.Errorf("%s: nobody says where a password belongs: %v", s, err)
			}
		}
	}
}

func TestHowLongARunOfStepsTakes(t *testing.T) {
	t.Parallel()
	noKit := func(p *Plan) { p.Workload.SLOB.Kit = nil }
	cooldown := func(p *Plan) { p.Schedule.CooldownSeconds = 1 }
	search := directPlan()
	search.Clients, search.Schedule.Repetitions = 1, 1
	search.Workload.Raw.Capacity = capacityWithin("", LatencyBound{"p99", 1_200_000})
	// 3 rounds of 5 s of baseline, 10 s of warm-up and 60 s, and 5 s between;
	// 5 numbers of users, and one calibrate to warm caches.
	cases := map[string]struct {
		plan Plan
		want Steps
	}{
		"Raw":       {directPlan(), Steps{Count: 3, Seconds: 3*75 + 2*5, Exact: true}},
		"Ramp":      {oraclePlan(bench.Workload{SLOB: slob()}, native), Steps{Count: 15, Seconds: 3*(5+5*70+4*2) + 2*5, Exact: true}},
		"ShortRamp": {oraclePlan(bench.Workload{SLOB: slob()}, native, cooldown), Steps{Count: 15, Seconds: 3*(5+5*70+4*1) + 2*1, Exact: true}},
		"Database":  {oraclePlan(bench.Workload{SLOB: slob()}, inContainer, noKit), Steps{Count: 15, Seconds: 15*75 + 14*5, Exact: true}},
		"FixedWork": {
			oraclePlan(bench.Workload{SLOB: slob()}, inContainer, noKit, func(p *Plan) { p.Workload.SLOB.WorkLoop = 9 }),
			Steps{Count: 15, Seconds: 15*65 + 14*5},
		},
		"Capacity": {search, Steps{Count: 48, Seconds: 5 + 10 + 48*(60+3)}},
		"Kit":      {oraclePlan(bench.Workload{SLOB: slob()}, inContainer), Steps{Count: 15, Seconds: 15*(5+60+KitReportSeconds) + 14*5}},
		"Oracle": {
			oraclePlan(bench.Workload{Calibrate: calibrate()}, inContainer),
			Steps{Count: 4, Seconds: 4*(5+CalibrateCallSeconds) + 3*5},
		},
		"Native": {
			oraclePlan(bench.Workload{Calibrate: calibrate()}, native),
			Steps{Count: 4 * MaxCalibrateSteps, Seconds: 4*(5+MaxCalibrateSteps*70) + 3*5},
		},
	}
	for name, tc := range cases {
		if got := tc.plan.ScheduledSteps(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestATimeoutIsHeldAgainstWhatIsKnownOnly(t *testing.T) {
	t.Parallel()
	p := oraclePlan(bench.Workload{Calibrate: calibrate()}, native)
	p.Schedule.TimeoutSeconds = 60
	if err := p.Validate(); err != nil {
		t.Errorf("a calibrate may be short: %v", err)
	}
}
