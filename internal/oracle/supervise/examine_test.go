package supervise

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/ports"
)

// expect asserts the result of a check, and words of its message.
func expect(t *testing.T, checks []runfile.Check, check, result string, words ...string) {
	t.Helper()
	i := slices.IndexFunc(checks, func(c runfile.Check) bool { return c.Check == check })
	if i < 0 {
		t.Fatalf("no check %q in %+v", check, checks)
	}
	if checks[i].Result != result {
		t.Errorf("%s is %s: %s", check, checks[i].Result, checks[i].Message)
	}
	for _, w := range words {
		if !strings.Contains(checks[i].Message, w) {
			t.Errorf("%s: no %q in %q", check, w, checks[i].Message)
		}
	}
}

// has says whether one of several checks of this name has this result, and the word.
func has(checks []runfile.Check, check, result, word string) bool {
	return slices.ContainsFunc(checks, func(c runfile.Check) bool {
		return c.Check == check && c.Result == result && strings.Contains(c.Message, word)
	})
}

func (i *image) proc(name, text string) { i.write(filepath.Join(i.o.ProcDir, name), 0o644, text) }

const limitsOfPod = "Max open files            65536                65536                files     \n"

// TestAnExaminationStartsNothing: of an image and a volume that are in order, each check is OK.
func TestAnExaminationStartsNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	i.direct(bench.NFSv3, "/export", v3.Port(), "127.0.0.1")
	i.proc("self/limits", limitsOfPod)
	i.proc("sys/fs/aio-max-nr", "65536\n")
	for _, name := range []string{"make", "su"} { // which this machine may lack
		i.write(filepath.Join(i.base, name), 0o755, "")
	}
	checks := Examine(t.Context(), i.o)
	path, err := repository.Path("docs/oracle-first-run.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	asOnThePage := strings.NewReplacer(i.home, "/opt/oracle/product/23ai/dbhomeFree", i.base, "/opt/oracle", "127.0.0.1", "10.0.1.61", "names /bin/sh", "names /bin/bash", "libnfsodm19.so", "libnfsodm.so",
		"mtab is a file of its own", "mtab is a link to /proc/self/mounts", "oracle are not known", "oracle are 54321:54321",
		fmt.Sprintf("user %d writes", os.Getuid()), "user 54321 writes")
	for _, c := range checks {
		if c.Result != runfile.CheckOK {
			t.Errorf("%+v", c)
		}
		if line := fmt.Sprintf("%-4s  %-14s  %s\n", c.Result, c.Check, asOnThePage.Replace(c.Message)); !strings.Contains(string(page), line) {
			t.Errorf("docs/oracle-first-run.md lacks %q", line)
		}
	}
	for _, check := range []string{checkDirectNFS, checkStart, checkHealth, checkVolume, checkFiles, checkServer, checkLimits, checkAIO} {
		expect(t, checks, check, runfile.CheckOK)
	}
	i.started(0)
	if left, err := os.ReadDir(i.data); err != nil || len(left) > 0 {
		t.Errorf("left on the volume: %v, %v", left, err)
	}
}

// TestAnExaminationTellsAllThatIsWrong: a run would tell the first.
func TestAnExaminationTellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.DirectNFS = true
	i.o.StartCommand = []string{"/none"}
	i.o.MinFreeBytes = 1 << 62
	i.write(i.data+"/payroll.dbf", 0o644, "x")
	for _, library := range libraries(i.home + "/lib") {
		if err := os.Remove(library); err != nil {
			t.Fatal(err)
		}
	}
	i.proc("self/limits", strings.ReplaceAll(limitsOfPod, "65536", "1024 "))
	i.o.Kit = t.TempDir()
	checks := Examine(t.Context(), i.o)
	expect(t, checks, checkKit, runfile.CheckFail, "runit.sh")
	expect(t, checks, checkDirectNFS, runfile.CheckFail, "libnfsodm")
	expect(t, checks, checkStart, runfile.CheckFail, "/none", "database.container.command")
	expect(t, checks, checkVolume, runfile.CheckFail, "make it larger")
	expect(t, checks, checkFiles, runfile.CheckFail, "payroll.dbf", "existingDatabase")
	expect(t, checks, checkLimits, runfile.CheckWarn, "1024", "LimitNOFILE")
}

// TestADatabaseOnTheVolumeMayHoldTheTables: then there need be no room for them.
func TestADatabaseOnTheVolumeMayHoldTheTables(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.MinFreeBytes = 1 << 62
	i.mark(ownDatabase{SID: "ORCLCDB"})
	i.write(i.data+"/dbconfig/"+i.o.SID+"/spfile", 0o644, "")
	checks := Examine(t.Context(), i.o)
	expect(t, checks, checkVolume, runfile.CheckWarn, "may hold the tables already")
	expect(t, checks, checkFiles, runfile.CheckOK)
}

// TestServersThatRefuseThePodFail: with NFSv4 always, with NFSv3 perhaps.
func TestServersThatRefuseThePodFail(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.direct(bench.NFSv41, "/export", refusing(t), "127.0.0.1")
	expect(t, Examine(t.Context(), i.o), checkServer, runfile.CheckFail, "127.0.0.1", "-nfs-rootonly disabled")
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	i.direct(bench.NFSv3, "/denied", v3.Port(), "127.0.0.1")
	expect(t, Examine(t.Context(), i.o), checkServer, runfile.CheckWarn, "-nfs-rootonly disabled")
	i.o.Engine, i.o.DataDirectory = nil, ""
	for _, c := range Examine(t.Context(), i.o) {
		if c.Check == checkServer || c.Check == checkVolume || c.Check == checkFiles {
			t.Errorf("without a volume: %+v", c)
		}
	}
}

// TestTheKernelsClientHasLimitsOfTheNode, which Direct NFS has not.
func TestTheKernelsClientHasLimitsOfTheNode(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.proc("sys/fs/aio-max-nr", "65536\n")
	i.proc("sys/fs/aio-nr", "4352\n")
	i.proc("sys/sunrpc/tcp_max_slot_table_entries", "16\n")
	checks := Examine(t.Context(), i.o)
	expect(t, checks, checkAIO, runfile.CheckWarn, "65536", "4352", "fs.aio-max-nr=3145728")
	expect(t, checks, checkSlots, runfile.CheckWarn, "16", "tcp_max_slot_table_entries=128")
	i.proc("sys/fs/aio-max-nr", "3145728\n")
	i.proc("sys/sunrpc/tcp_max_slot_table_entries", "65536\n")
	checks = Examine(t.Context(), i.o)
	expect(t, checks, checkAIO, runfile.CheckOK)
	expect(t, checks, checkSlots, runfile.CheckOK)
}

func TestALoaderNeedsAClientAndAListener(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	address := l.Addr().String()
	i.o.Kit = t.TempDir()
	for _, name := range []string{"runit.sh", "mywait", "trigger", "slob.conf"} {
		i.write(filepath.Join(i.o.Kit, name), 0o755, "SCALE=80M\n")
	}
	expect(t, ExamineClient(t.Context(), i.o, []string{address + "/ORCL", address + "/a", address + "/b"}), checkKit, runfile.CheckFail, "SQLNET_SERVICE_MAX")
	checks := ExamineClient(t.Context(), i.o, []string{address + "/ORCL", address + "/a"})
	expect(t, checks, checkKit, runfile.CheckOK)
	expect(t, checks, checkClient, runfile.CheckWarn, "database.external.image")
	expect(t, checks, checkListener, runfile.CheckOK, address)
	address = ports.Reserve(t).String()
	i.write(i.home+"/lib/libclntsh.so.19.1", 0o644, "")
	checks = ExamineClient(t.Context(), i.o, []string{address + "/ORCL"})
	expect(t, checks, checkClient, runfile.CheckOK, "libclntsh.so.19.1")
	expect(t, checks, checkListener, runfile.CheckFail, address, "NetworkPolicies")
}

func TestTheListenersOfConnectStringsAreFound(t *testing.T) {
	t.Parallel()
	got := addressesOf([]string{
		"scan.example:1522/ORCL", "scan.example:1522/other", "db1/ORCL", "[2001:db8::1]:1521/ORCL", "tcps://db2.example:2484/ORCL?x=y",
		"(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=db3)(PORT=2484))(ADDRESS = (HOST = db4)(PORT = 1521))(CONNECT_DATA=(SERVICE_NAME=x)))", "no address",
	})
	want := []string{"scan.example:1522", "db1:1521", "[2001:db8::1]:1521", "db2.example:2484", "db3:2484", "db4:1521"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAKitThatCannotRunStartsNothing: a database takes half an hour to create.
func TestAKitThatCannotRunStartsNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Kit = t.TempDir()
	i.write(i.o.Kit+"/runit.sh", 0o755, "")
	i.write(i.o.Kit+"/slob.conf", 0o644, "SCALE=80M\n")
	if f := i.fails(runfile.FailureInvalidPlan); !strings.Contains(f.Message, "the program mywait") || i.lines(i.base+"/starts") > 0 {
		t.Errorf("%s", f.Message)
	}
}
