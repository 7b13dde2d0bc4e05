package supervise

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// TestOracleMustSeeTheMountInTheMountTable: containerd makes no /etc/mtab in a container.
func TestOracleMustSeeTheMountInTheMountTable(t *testing.T) {
	t.Parallel()
	const link = "ln -sf /proc/self/mounts"
	for name, tc := range map[string]struct {
		table  func(data string) string // empty = there is none
		kernel bool
		good   bool
		words  string
	}{
		"none":                 {func(string) string { return "" }, false, false, link},
		"none, and the kernel": {func(string) string { return "" }, true, true, ""},
		"without the volume":   {func(string) string { return "overlay / overlay rw 0 0\n" }, false, false, link},
		"of another type":      {func(d string) string { return "x " + d + " ext4 rw 0 0\n" }, false, false, link},
		"with the volume":      {func(d string) string { return "overlay / overlay rw 0 0\n10.0.1.61:/x " + d + " nfs rw 0 0\n" }, false, true, ""},
		"of another export":    {func(d string) string { return "10.0.1.61:/other " + d + " nfs rw 0 0\n" }, false, false, `the export "/other"`},
		"with version 4":       {func(d string) string { return "10.0.1.61:/x " + d + " nfs4 rw 0 0\n" }, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.Export, i.o.Engine = "/x", &runfile.Engine{Security: "krb5", Channels: runfile.ChannelsTo("10.0.1.61")} // of whose servers none is asked
			i.o.DirectNFS, i.o.MountTable = !tc.kernel, filepath.Join(i.base, "mtab")
			i.proc("self/mountinfo", "1 0 0:1 / "+i.data+" rw - nfs 10.0.1.61:/x rw,vers=3\n")
			if text := tc.table(i.data); text != "" { // a link, as runtimes make it
				i.write(i.base+"/mounts", 0o644, text)
				if err := os.Symlink(i.base+"/mounts", i.o.MountTable); err != nil {
					t.Fatal(err)
				}
			}
			if tc.good {
				expect(t, Examine(t.Context(), i.o), checkDirectNFS, runfile.CheckOK)
				i.start().ready(1)
				return
			}
			f := i.fails(runfile.FailureDirectNFSMissing)
			expect(t, Examine(t.Context(), i.o), checkDirectNFS, runfile.CheckFail, f.Message, tc.words)
		})
	}
}

// TestTransfersThatOracleRefusesFail: Direct NFS serves no filer whose wtmax is not a multiple of 32
// KiB, and falls back to the kernel's client.
func TestTransfersThatOracleRefusesFail(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		size, own int64 // the transfer size of our client must not count
		good      bool
	}{
		{16 << 10, 0, false},
		{32 << 10, 0, true},
		{64 << 10, 0, true},
		{129 << 12, 0, false},
		{1 << 20, 0, true},
		{129 << 12, 64 << 10, false},
		{1 << 20, 16 << 10, true},
	} {
		i := newImage(t)
		s := &faulty.Server{MaxTransfer: int(tc.size)}
		s.Start(t, "127.0.0.1")
		i.direct(bench.NFSv3, "/export", s.Port(), "127.0.0.1")
		i.o.Engine.TransferSizeBytes = tc.own
		if tc.good {
			expect(t, Examine(t.Context(), i.o), checkServer, runfile.CheckOK)
			continue
		}
		if !has(Examine(t.Context(), i.o), checkServer, runfile.CheckFail, "127.0.0.1") {
			t.Errorf("%+v is said to be good", tc)
			continue
		}
		f := i.fails(runfile.FailureUnsupported, "32768")
		if n := i.lines(i.base + "/starts"); n > 0 || len(f.Message) == 0 {
			t.Errorf("%+v: started %d times", tc, n)
		}
	}
}
