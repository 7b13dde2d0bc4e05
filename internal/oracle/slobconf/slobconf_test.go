package slobconf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func fragment(t *testing.T, conf string) string {
	t.Helper()
	text, err := parse(t, conf).YAML()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const full = `# SLOB 2.5.4
UPDATE_PCT=10
SCAN_PCT=0
RUN_TIME=300     # seconds
WORK_LOOP=5000
SCALE=80M
SCAN_TABLE_SZ=1M
WORK_UNIT=64
REDO_STRESS=HEAVY
LOAD_PARALLEL_DEGREE=2
THREADS_PER_SCHEMA=4
DATABASE_STATISTICS_TYPE=awr   # Permitted values: [statspack|awr]
#ADMIN_SQLNET_SERVICE=""
DBA_PRIV_USER="system"
SYSDBA_PASSWD='tiger!'
EXTERNAL_SCRIPT=''
DO_HOTSPOT=TRUE
HOTSPOT_MB=8
THINK_TM_FREQUENCY=3
THINK_TM_MIN=.1
THINK_TM_MAX=.5
OBFUSCATE_COLUMNS=TRUE
WHAT_IS_THIS=1
X=$(hostname)
export UPDATE_PCT RUN_TIME SCALE
`

func TestEveryParameterArrivesOrIsExplained(t *testing.T) {
	want := `# From a slob.conf. Put it below spec of an NFSBenchmark.
# Line 24 is no plain assignment and was left out.
workload:
  slob:
    access: RandomRead # SCAN_PCT
    schemas: 1 # the first argument of runit.sh; slob.conf does not say
    threadsPerSchema: 4 # THREADS_PER_SCHEMA; or users, a list, for a ramp
    scale: 80Mi # SCALE
    scanTableSize: 1Mi # SCAN_TABLE_SZ
    workUnit: 64 # WORK_UNIT
    workLoop: 5000 # WORK_LOOP; run.durationSeconds is then the longest that a step may take
    updatePercent: 10 # UPDATE_PCT
    redoStress: Heavy # REDO_STRESS
    loadParallelDegree: 2 # LOAD_PARALLEL_DEGREE
    think: # THINK_TM_*
      frequency: 3
      minimumMilliseconds: 100
      maximumMilliseconds: 500
    obfuscateColumns: Enabled # OBFUSCATE_COLUMNS
    awr: Enabled # DATABASE_STATISTICS_TYPE; it needs the Diagnostics Pack
run:
  durationSeconds: 300 # RUN_TIME
# DO_HOTSPOT=TRUE was left out: there are no hot spots.
# DBA_PRIV_USER=system was left out: it belongs into the Secret of database.external.credentialsSecretRef.
# SYSDBA_PASSWD was left out: it belongs into a Secret.
# WHAT_IS_THIS was left out: it is no parameter of SLOB 2.5.
`
	if diff := cmp.Diff(want, fragment(t, full)); diff != "" {
		t.Error(diff)
	}
}

func TestTheFragmentIsASpec(t *testing.T) {
	for name, conf := range map[string]string{"full": full, "one line": "SCALE=1", "scan": "SCAN_PCT=100\nSCAN_TABLE_SZ=2G\nUPDATE_PCT=10"} {
		t.Run(name, func(t *testing.T) {
			var spec v1alpha1.NFSBenchmarkSpec
			if err := yaml.UnmarshalStrict([]byte(fragment(t, conf)), &spec); err != nil {
				t.Fatal(err)
			}
			if spec.Workload.SLOB == nil || spec.Run.DurationSeconds != 300 {
				t.Errorf("%+v", spec)
			}
		})
	}
}

func TestWhatIsNotSetIsWhatSLOBTakes(t *testing.T) {
	text := fragment(t, "SCALE=12800")
	for _, want := range []string{
		"scale: 100Mi # SCALE, 12800 blocks of 8192 bytes\n",
		"updatePercent: 25 # UPDATE_PCT is not set: SLOB takes 25\n",
		"workUnit: 256 # WORK_UNIT is not set: SLOB takes 256\n",
		"awr: Disabled # DATABASE_STATISTICS_TYPE is not set",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "think") {
		t.Error("users think, who do not")
	}
}

func TestSizesAndThreadsAreThoseThatTheAPITakes(t *testing.T) {
	for conf, want := range map[string]string{
		"SCALE=2G":                         "scale: 2Gi # SCALE\n",
		"SCALE=1T":                         "scale: 1024Gi # SCALE\n",
		"SCALE=1500K":                      "scale: 2Mi # SCALE, rounded up\n",
		"SCALE=10000":                      "scale: 79Mi # SCALE, 10000 blocks of 8192 bytes, rounded up\n",
		"SCALE=10000\nBLOCK_SZ=4096":       "scale: 40Mi # SCALE, 10000 blocks of 4096 bytes, rounded up\n",
		"SCALE=1G\nSCALE=\"3G\"":           "scale: 3Gi # SCALE\n",
		"SCALE=1G\nTHREADS_PER_SCHEMA=128": "threadsPerSchema: 128 # THREADS_PER_SCHEMA",
		"SCALE=1G\nTHREADS_PER_SCHEMA=129": "threadsPerSchema: 128 # THREADS_PER_SCHEMA is 129: take more schemas",
	} {
		if text := fragment(t, conf); !strings.Contains(text, want) {
			t.Errorf("%q: no %q in\n%s", conf, want, text)
		}
	}
}

func TestAccessesAreNotMixed(t *testing.T) {
	if text := fragment(t, "SCAN_PCT=30"); !strings.Contains(text, "access: RandomRead # SCAN_PCT is 30: a load does not mix") {
		t.Error(text)
	}
	text := fragment(t, "SCAN_PCT=100\nUPDATE_PCT=10")
	if !strings.Contains(text, "access: FullTableScan # SCAN_PCT\n") || !strings.Contains(text, "# UPDATE_PCT is 10: FullTableScan only reads") || strings.Contains(text, "updatePercent") {
		t.Error(text)
	}
}

func TestWhatSLOBRefusesIsRefused(t *testing.T) {
	for conf, want := range map[string]string{
		"UPDATE_PCT=70":                               "UPDATE_PCT is 70; write 0 to 50, or 100",
		"WORK_UNIT=2":                                 `WORK_UNIT is "2"; write a number from 3 to 1024`,
		"SCALE=80X":                                   `SCALE: "80X" is no size`,
		"REDO_STRESS=MUCH":                            `REDO_STRESS is "MUCH"; write LITE or HEAVY`,
		"RUN_TIME=10":                                 `RUN_TIME is "10"`,
		"OBFUSCATE_COLUMNS=MAYBE":                     "OBFUSCATE_COLUMNS",
		"DATABASE_STATISTICS_TYPE=both":               "DATABASE_STATISTICS_TYPE",
		"THINK_TM_FREQUENCY=1\nTHINK_TM_MIN=1":        "THINK_TM_MAX is less",
		"THINK_TM_FREQUENCY=1\nTHINK_TM_MIN=NaN":      "THINK_TM_MIN",
		"SCAN_TABLE_SZ=999999999999T":                 "too large",
		"THREADS_PER_SCHEMA=0\nLOAD_PARALLEL_DEGREE=": `THREADS_PER_SCHEMA is "0"`,
	} {
		if _, err := parse(t, conf).YAML(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", conf, err, want)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for _, text := range []string{"", "hello\n", "PATH=/bin\n", strings.Repeat("\n", maxLines+1)} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "no slob.conf") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Fuzz(func(t *testing.T, text string) {
		var out string
		var err error
		memory.Bound(t, 128<<10+256*len(text), func() {
			var c Conf
			if c, err = Parse(strings.NewReader(text)); err == nil {
				out, err = c.YAML()
			}
		})
		if err != nil {
			return
		}
		var spec v1alpha1.NFSBenchmarkSpec
		if err := yaml.UnmarshalStrict([]byte(out), &spec); err != nil {
			t.Errorf("%v in\n%s", err, out)
		}
	})
}

func TestTheTablesAreAsLargeAsSetupMakesThem(t *testing.T) {
	for conf, want := range map[string]Tables{
		"SCALE=80M\nSCAN_TABLE_SZ=2M\nOBFUSCATE_COLUMNS=TRUE\n": {ScaleBytes: 80 << 20, ScanBytes: 2 << 20, BlockBytes: 8192, Obfuscate: true},
		"RUN_TIME=300\n": {ScaleBytes: 10000 * 8192, ScanBytes: 1 << 20, BlockBytes: 8192},
		"BLOCK_SZ=16384\nSCALE=20000\nSCALE=40000\n": {ScaleBytes: 40000 * 16384, ScanBytes: 1 << 20, BlockBytes: 16384},
	} {
		got, err := parse(t, conf).Tables()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", conf, err, diff)
		}
	}
	for conf, want := range map[string]string{"SCALE=much": "SCALE", "SCAN_TABLE_SZ=-1": "SCAN_TABLE_SZ", "SCALE=1\nBLOCK_SZ=0": "BLOCK_SZ"} {
		if _, err := parse(t, conf).Tables(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", conf, err)
		}
	}
}
