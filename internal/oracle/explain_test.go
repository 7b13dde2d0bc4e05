package oracle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestErrorsOfTheDriverAreExplained(t *testing.T) {
	for text, c := range map[string]struct{ code, want string }{
		"ORA-01017: invalid username/password; logon denied":                                    {runfile.FailurePassword, "Secret"},
		"ORA-65096: common user or role name must start with C##":                               {runfile.FailureUnsupported, "pluggable database"},
		"ORA-28000: the account is locked":                                                      {runfile.FailurePassword, "UNLOCK"},
		"ORA-28001: the password has expired":                                                   {runfile.FailurePassword, "expired"},
		"ORA-01031: insufficient privileges":                                                    {runfile.FailurePrivilege, "SYSDBA"},
		"ORA-12514: TNS:listener does not currently know":                                       {runfile.FailureDatabaseNotReady, "service"},
		"ORA-12541: Cannot connect. No listener at host":                                        {runfile.FailureDatabaseNotReady, "no listener"},
		"ORA-12154: TNS:could not resolve the connect identifier":                               {runfile.FailureDatabaseNotReady, "host:port/service"},
		"ORA-12170: TNS:Connect timeout occurred":                                               {runfile.FailureDatabaseNotReady, "network policy"},
		"ORA-01033: ORACLE initialization or shutdown in progress":                              {runfile.FailureDatabaseNotReady, "starting or shutting down"},
		"ORA-01034: ORACLE not available\nORA-27101: shared memory realm does not exist":        {runfile.FailureDatabaseNotReady, "(ORA-01034)"},
		"ORA-01109: database not open":                                                          {runfile.FailureDatabaseNotReady, "open it"},
		"ORA-00442: Oracle Database Free single instance violation":                             {runfile.FailureDatabaseNotReady, "Oracle Free"},
		"ORA-03113: end-of-file on communication channel":                                       {runfile.FailureDatabaseEnded, "alert log"},
		"ORA-03114: not connected to ORACLE":                                                    {runfile.FailureDatabaseEnded, "alert log"},
		"ORA-00000: DPI-1080: connection was closed by ORA-3113":                                {runfile.FailureDatabaseEnded, "(ORA-03113)"},
		"DPI-1010: not connected":                                                               {runfile.FailureDatabaseEnded, "(DPI-1010)"},
		"ORA-00257: archiver error. Connect AS SYSDBA only":                                     {runfile.FailureNoSpace, "recovery area"},
		"ORA-01653: unable to extend table USER1.CF1 by 128 in tablespace X":                    {runfile.FailureNoSpace, "scale"},
		"ORA-01652: unable to extend temp segment by 128 in tablespace TEMP":                    {runfile.FailureNoSpace, "temporary"},
		"ORA-01658: unable to create INITIAL extent":                                            {runfile.FailureNoSpace, "(ORA-01658)"},
		"ORA-12954: The request exceeds the maximum allowed database size":                      {runfile.FailureNoSpace, "12 GB"},
		"ORA-00604: error occurred at recursive SQL level 1\nORA-01653: no":                     {runfile.FailureNoSpace, "(ORA-01653)"},
		"ORA-27054: NFS file system where the file is created or resides":                       {runfile.FailureUnsupported, "32768"},
		"ORA-01119: error in creating database file\nORA-27054: NFS file":                       {runfile.FailureUnsupported, "(ORA-27054)"},
		"ORA-01119: error in creating database file '/x'\nORA-27040: create":                    {runfile.FailureIO, "'/x'"},
		"ORA-01119: error\nORA-27072: File I/O error\nError: 28: No space left on device":       {runfile.FailureNoSpace, "volume"},
		"ORA-06512: at line 1\nORA-27072: No space left on device":                              {runfile.FailureNoSpace, "(ORA-27072)"},
		"ORA-00000: DPI-9999: no space left on device":                                          {runfile.FailureNoSpace, "(DPI-9999)"},
		"ORA-27072: File I/O error":                                                             {runfile.FailureIO, "NFS server"},
		"ORA-00020: maximum number of processes (300) exceeded":                                 {runfile.FailureParameter, "processes"},
		"ORA-56708: Could not find any datafiles":                                               {runfile.FailureAsyncIO, "SETALL"},
		"ORA-56708: Could not find any datafiles with async":                                    {runfile.FailureAsyncIO, "fs.aio-max-nr=3145728"},
		"ORA-01115: IO error\nORA-27090: Unable to reserve kernel resources":                    {runfile.FailureAsyncIO, "fs.aio-max-nr=3145728"},
		"ORA-28003: password verification for the specified password failed\nORA-20000: x":      {runfile.FailureSQL, "two of each kind"},
		"ORA-02391: exceeded simultaneous SESSIONS_PER_USER limit":                              {runfile.FailureParameter, "SESSIONS_PER_USER"},
		"ORA-00439: feature not enabled: Advanced Compression":                                  {runfile.FailureUnsupported, "edition"},
		"ORA-01081: cannot start already-running ORACLE - shut it down first":                   {runfile.FailureDatabaseEnded, "shared memory"},
		"ORA-00821: Specified value of sga_target 16M is too small":                             {runfile.FailureParameter, "sga_target"},
		"ORA-27102: out of memory\nLinux-x86_64 Error: 12: Cannot allocate memory":              {runfile.FailureParameter, "memory"},
		"ORA-27102: out of memory\nLinux-x86_64 Error: 28: No space left on device":             {runfile.FailureParameter, "kernel.shmall"},
		"ORA-27125: unable to create shared memory segment\nError: 28: No space left on device": {runfile.FailureParameter, "kernel.shmall"},
		"ORA-56709: timed_statistics set to FALSE":                                              {runfile.FailureTimedStatistics, "TRUE"},
		"ORA-01013: user requested cancel of current operation":                                 {runfile.FailureCancelled, "cancelled"},
		"ORA-00000: DPI-1047: Cannot locate a 64-bit Oracle Client library":                     {runfile.FailureOracleClient, "libclntsh.so"},
		"DPI-1072: the Oracle Client library version is unsupported":                            {runfile.FailureOracleClient, "12.1"},
		"ORA-00942: table or view\n does not exist":                                             {runfile.FailureSQL, "ORA-00942: table or view does not exist"},
		"ORA-00604: error occurred at recursive SQL level 1":                                    {runfile.FailureSQL, "level 1"},
	} {
		err := Explain(fmt.Errorf("connect: %w", errors.New(text)))
		if CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\ngot %v with %s, want %q with %s", text, err, CodeOf(err), c.want, c.code)
		}
	}
}

func TestWhatIsNotOraclesIsLeftAlone(t *testing.T) {
	if Explain(nil) != nil || CodeOf(nil) != "" {
		t.Error("no error is explained")
	}
	plain := errors.New("open /etc/nfsbench/plan.json: no such file")
	if !errors.Is(Explain(plain), plain) || Explain(plain).Error() != plain.Error() || CodeOf(plain) != "" {
		t.Errorf("%v has the code %q", Explain(plain), CodeOf(plain))
	}
	known := fmt.Errorf("load: %w", Fail(runfile.FailureBusy, "others use the database, ORA-01017 or not", plain))
	if Explain(known).Error() != known.Error() || CodeOf(known) != runfile.FailureBusy {
		t.Errorf("%v has the code %q", Explain(known), CodeOf(known))
	}
	if !errors.Is(known, plain) {
		t.Error("the cause is lost")
	}
	if got := CodeOf(fmt.Errorf("x: %w", context.Canceled)); got != runfile.FailureCancelled {
		t.Errorf("a cancelled context has the code %q", got)
	}
	if got := CodeOf(fmt.Errorf("x: %w", context.DeadlineExceeded)); got != runfile.FailureTimeout {
		t.Errorf("a deadline has the code %q", got)
	}
}

func TestEveryExplanationIsASentenceWithAFix(t *testing.T) {
	all := explanations()
	if len(all) < 60 {
		t.Errorf("only %d", len(all))
	}
	for n, e := range all {
		if !regexp.MustCompile(`^(ORA-\d{5}|DPI-\d{4})$`).MatchString(n) {
			t.Errorf("%q is no number", n)
		}
		if e.code == "" || len(e.what) < 10 || len(e.fix) < 10 || strings.ContainsAny(e.what+e.fix, "\n") {
			t.Errorf("%s: %+v", n, e)
		}
	}
}

func TestALongErrorIsCut(t *testing.T) {
	err := Explain(errors.New("ORA-00600: " + strings.Repeat("ä", 5000)))
	if n := len([]rune(err.Error())); n > 600 {
		t.Errorf("%d characters", n)
	}
}
