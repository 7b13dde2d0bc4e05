package main

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/test/kit/output"
	"github.com/nfsbench/nfsbench/test/lab/oracle/driver"
)

// image is the environment of an image whose paths lie below a folder.
func image(t *testing.T, more map[string]string) environment {
	t.Helper()
	dir := t.TempDir()
	vars := map[string]string{
		"STANDIN_DATA": filepath.Join(dir, "oradata"), "ORACLE_BASE": dir, "STANDIN_STATE": dir, "STANDIN_LISTEN": "127.0.0.1:0",
		"STANDIN_DATAFILE_PERCENT": "5", "ORACLE_PWD": "Pa_1",
	}
	maps.Copy(vars, more)
	if err := os.MkdirAll(vars["STANDIN_DATA"], 0o755); err != nil {
		t.Fatal(err)
	}
	all := func() (uint64, error) { return ^uint64(0), nil }
	return environment{get: func(name string) string { return vars[name] }, capabilities: all}
}

// container is one life of the container.
type container struct {
	out  *output.Buffer
	stop context.CancelFunc
	done chan error
}

func run(t *testing.T, e environment) *container {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &container{out: &output.Buffer{}, stop: cancel, done: make(chan error, 1)}
	go func() { c.done <- start(ctx, e, c.out) }()
	return c
}

// await waits until the container says that it is ready.
func (c *container) await(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(c.out.String(), readyLine) {
			return
		}
		select {
		case err := <-c.done:
			t.Fatalf("the container ended: %v\n%s", err, c.out)
		default:
		}
	}
	t.Fatalf("no %q in\n%s", readyLine, c.out)
}

func (c *container) end(t *testing.T) {
	t.Helper()
	c.stop()
	if err := <-c.done; err != nil {
		t.Errorf("the container ended with %v", err)
	}
}

const readyLine = "DATABASE IS READY TO USE!"

func TestTheFirstStartCreatesAndTheSecondReuses(t *testing.T) {
	e := image(t, nil)
	first := run(t, e)
	first.await(t)
	if !strings.Contains(first.out.String(), "50% complete") {
		t.Errorf("no progress of the creation:\n%s", first.out)
	}
	first.end(t)
	if !strings.Contains(first.out.String(), "Shutting down ORACLE instance (immediate)") {
		t.Errorf("no orderly shutdown:\n%s", first.out)
	}
	second := run(t, e)
	second.await(t)
	if strings.Contains(second.out.String(), "complete\n") {
		t.Errorf("the second start created again:\n%s", second.out)
	}
	second.end(t)
}

// TestADatabaseThatNoImageHasCreatedIsDeleted, and a new one is created in its place.
func TestADatabaseThatNoImageHasCreatedIsDeleted(t *testing.T) {
	e := image(t, nil)
	first := run(t, e)
	first.await(t)
	first.end(t)
	volume := e.get("STANDIN_DATA")
	precious := filepath.Join(volume, "FREE", "precious.dbf")
	for _, there := range []bool{true, false} {
		if err := os.WriteFile(precious, nil, 0o640); err != nil {
			t.Fatal(err)
		}
		if !there {
			if err := os.Remove(filepath.Join(volume, ".FREE.created")); err != nil {
				t.Fatal(err)
			}
		}
		again := run(t, e)
		again.await(t)
		again.end(t)
		if exists(precious) != there {
			t.Errorf("with .FREE.created %t: the datafile is there %t", there, exists(precious))
		}
	}
	if !exists(filepath.Join(volume, ".FREE.created")) {
		t.Error("the second creation left no .FREE.created")
	}
}

// TestACreationTakesItsTime, and the start with a volume that has a database does not.
func TestACreationTakesItsTime(t *testing.T) {
	slow := map[string]string{"STANDIN_CREATE_SECONDS": "3600"}
	e := image(t, slow)
	creating := run(t, e)
	prepared := image(t, nil)
	first := run(t, prepared)
	first.await(t) // as long as the other would take
	first.end(t)
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(creating.out.String(), " 0% complete") && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := health(e); got != 1 {
		t.Errorf("while it creates: %d", got)
	}
	creating.stop()
	if err := <-creating.done; err == nil || strings.Count(creating.out.String(), "complete\n") != 1 {
		t.Errorf("the creation ended with %v:\n%s", err, creating.out)
	}
	slow["STANDIN_DATA"] = prepared.get("STANDIN_DATA")
	second := run(t, image(t, slow))
	second.await(t)
	second.end(t)
}

func TestHealthFollowsTheStart(t *testing.T) {
	port := "127.0.0.1:18521"
	vars := map[string]string{"STANDIN_LISTEN": port, "STANDIN_NEVER_READY": "true"}
	e := image(t, vars)
	if got := health(e); got != 1 {
		t.Errorf("before the start: %d", got)
	}
	held := run(t, e)
	for deadline := time.Now().Add(2 * time.Minute); !exists(e.stateFile()) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := health(e); got != 1 {
		t.Errorf("while it starts: %d, want 1", got)
	}
	held.end(t)
	vars["STANDIN_NEVER_READY"] = ""
	e = image(t, vars)
	db := run(t, e)
	db.await(t)
	if got := health(e); got != 0 {
		t.Errorf("ready: %d", got)
	}
	db.end(t)
	if got := health(e); got != 1 {
		t.Errorf("after the end: %d", got)
	}
}

func TestWhatImagesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"no password":             {map[string]string{"ORACLE_PWD": ""}, "ORACLE_PWD must be set"},
		"a SID that is too long":  {map[string]string{"ORACLE_EDITION": "enterprise", "ORACLE_SID": "ABCDEFGHIJKLM"}, "at most 12"},
		"a parameter of no sense": {map[string]string{"INIT_SGA_SIZE": "many"}, "ORA-02017"},
	} {
		t.Run(name, func(t *testing.T) {
			e := image(t, c.env)
			err := start(t.Context(), e, &output.Buffer{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestAnUnlimitedNumberOfOpenFilesEndsTheStart as the programs of the images end, see
// docker-images issue 2832.
func TestAnUnlimitedNumberOfOpenFilesEndsTheStart(t *testing.T) {
	e := image(t, nil)
	e.openFiles = func() (uint64, error) { return 1073741816, nil }
	err := start(t.Context(), e, &output.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "unable to allocate file descriptor table - out of memory") {
		t.Errorf("%v", err)
	}
}

// TestOracleFreeNeedsSu with the capabilities that the operator adds; docker-images issues 2925
// and 2979 have a runtime whose defaults are narrower.
func TestOracleFreeNeedsSu(t *testing.T) {
	added := uint64(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
		1<<unix.CAP_KILL | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_AUDIT_WRITE)
	for name, c := range map[string]struct {
		set     uint64
		edition string
		good    bool
	}{
		"Express without any":       {0, "express", false},
		"as added":                  {added, "free", true},
		"without AUDIT_WRITE":       {added &^ (1 << unix.CAP_AUDIT_WRITE), "free", false},
		"Enterprise without any":    {0, "enterprise", true},
		"privileges are not raised": {0, "free", false},
	} {
		vars := map[string]string{"ORACLE_EDITION": c.edition}
		if c.edition == "express" {
			vars["ORACLE_SID"] = "XE"
		}
		e := image(t, vars)
		e.capabilities = func() (uint64, error) { return c.set, nil }
		err := e.checkProcess()
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "su: Authentication failure") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnotherHostNameStopsTheListenerOnly as with Oracle Free: the health script connects over
// bequeath, says ready, and nobody else can connect.
func TestAnotherHostNameStopsTheListenerOnly(t *testing.T) {
	const port = "127.0.0.1:18523"
	vars := map[string]string{"STANDIN_LISTEN": port, "STANDIN_HOST": "first-load-0"}
	e := image(t, vars)
	vars["STANDIN_DATA"] = e.get("STANDIN_DATA")
	listens := func(e environment) bool {
		db := run(t, e)
		db.await(t)
		if got := health(e); got != 0 {
			t.Errorf("health = %d", got)
		}
		c, err := net.Dial("tcp", port) //nolint:noctx // of this machine
		if err == nil {
			_ = c.Close()
		}
		db.end(t)
		return err == nil
	}
	if !listens(e) {
		t.Error("the first start does not listen")
	}
	vars["STANDIN_HOST"] = "second-load-0"
	if listens(image(t, vars)) {
		t.Error("the second start listens for another host")
	}
	vars["STANDIN_HOST"] = "first-load-0"
	if !listens(image(t, vars)) {
		t.Error("the third start does not listen")
	}
}

func TestADirectoryThatCannotBeWrittenEndsTheStart(t *testing.T) {
	e := image(t, nil)
	if err := os.RemoveAll(e.get("STANDIN_DATA")); err != nil {
		t.Fatal(err)
	}
	err := start(t.Context(), e, &output.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "must be writable") {
		t.Errorf("%v", err)
	}
}

func TestADatabaseThatNeverGetsReadyEndsWhenTold(t *testing.T) {
	e := image(t, map[string]string{"STANDIN_NEVER_READY": "true"})
	c := run(t, e)
	time.Sleep(100 * time.Millisecond)
	if got := health(e); got != 1 {
		t.Errorf("health = %d", got)
	}
	c.end(t)
}

func TestThePasswordOfTheFirstStartStays(t *testing.T) {
	port := "127.0.0.1:18522"
	e := image(t, map[string]string{"STANDIN_LISTEN": port})
	first := run(t, e)
	first.await(t)
	first.end(t)
	again := image(t, map[string]string{"STANDIN_LISTEN": port, "ORACLE_PWD": "Other_2", "STANDIN_DATA": e.get("STANDIN_DATA")})
	second := run(t, again)
	second.await(t)
	for password, good := range map[string]bool{"Pa_1": true, "Other_2": false} {
		db, err := driver.Open(t.Context(), oracle.ConnectOptions{Connect: port + "/FREE", User: "sys", Password: password, Role: "SYSDBA"})
		if (err == nil) != good {
			t.Errorf("password %s: %v", password, err)
		}
		if db != nil {
			_ = db.Close()
		}
	}
	second.end(t)
}

// TestTheStartFileSourcesOthers, as that of Oracle's Enterprise images.
func TestTheStartFileSourcesOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runOracle.sh")
	for text, code := range map[string]int{
		". /opt/oracle/runOracle.sh.k8s\n": 0, ". /opt/oracle/runOracle.sh.k8s\n. /opt/oracle/other\n": 2, "echo x\n": 127,
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := act("bash", []string{"-c", `exec "$0"`, file}); got != code {
			t.Errorf("%q ended with %d, want %d", text, got, code)
		}
	}
	if got := act("bash", []string{"-c", "ls"}); got != 2 {
		t.Errorf("another command ended with %d", got)
	}
}

func TestMakeSwitchesTheLibrary(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"lib", "rdbms/lib/odm"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "lib/libnfsodm.so"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := environment{get: func(name string) string { return map[string]string{"ORACLE_HOME": home}[name] }}
	placed := filepath.Join(home, "rdbms/lib/odm/libnfsodm.so")
	for _, step := range []struct {
		target string
		code   int
		there  bool
	}{{"dnfs_on", 0, true}, {"dnfs_off", 0, false}, {"dnfs_off", 0, false}, {"dnfs_up", 2, false}} {
		if got := dnfs(e, []string{"-f", "ins_rdbms.mk", step.target}, &output.Buffer{}); got != step.code || exists(placed) != step.there {
			t.Errorf("%s: code %d, library there: %t", step.target, got, exists(placed))
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
