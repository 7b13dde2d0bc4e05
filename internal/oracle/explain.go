package oracle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Fail returns an error with a code of runfile and a message for users. The
// cause err may be nil.
func Fail(code, message string, err error) error {
	return &failure{code: code, message: message, err: err}
}

// Failf returns an error like Fail, with the message of fmt.Errorf and the error that it wraps, if any.
func Failf(code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &failure{code: code, message: err.Error(), err: err}
}

// failure is an error that a user can fix.
type failure struct {
	code, message string
	err           error
}

// Error returns the message.
func (f *failure) Error() string { return f.message }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// Explain turns a driver error into a sentence that names the fix, with a code
// of runfile (see CodeOf). It goes by the ORA- and DPI- numbers in the error,
// and of several takes the most specific. An error with unknown numbers gets
// the code SQLFailed and keeps its text, on one line. An error without a
// number, and one that was explained before, is returned unchanged.
// Explain(nil) is nil.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if known := new(failure); errors.As(err, &known) {
		return err
	}
	text := oneLine(err.Error())
	numbers := numbersIn(text)
	if len(numbers) == 0 {
		return err
	}
	full := regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`)
	if full.MatchString(text) && SharedMemory(text) == "" {
		return Fail(runfile.FailureNoSpace, "the storage of the database is full ("+numbers[0]+"): make the volume or the "+
			"quota larger, or the load smaller", err)
	}
	all := explanations()
	var general string
	for _, n := range numbers {
		e, ok := all[n]
		switch {
		case !ok:
		case !e.general:
			return Fail(e.code, e.sentence(n), err)
		case general == "":
			general = n
		}
	}
	if general != "" {
		return Fail(all[general].code, all[general].sentence(general)+"; the database said: "+text, err)
	}
	return Fail(runfile.FailureSQL, "the database refused what it was asked: "+text, err)
}

// SharedMemory returns the error in a text that says that an instance gets no shared memory, up to the end of its
// line; empty = there is none. The accompanying system error can be "No space left on device", although no volume is
// full: shmget(2) returns it at a limit of the kernel.
func SharedMemory(text string) string {
	return strings.TrimSpace(regexp.MustCompile(`ORA-271(?:02|23|25)\b[^|\n]*`).FindString(text))
}

// CodeOf returns the runfile code of an error: the code of Fail or Explain, or
// Cancelled and Timeout for context errors. It is empty for nil, and for an
// error that does not come from a database.
func CodeOf(err error) string {
	if f := new(failure); errors.As(Explain(err), &f) {
		return f.code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return runfile.FailureCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return runfile.FailureTimeout
	default:
		return ""
	}
}

// numbersIn returns the error numbers in a text, such as ORA-01017 and
// DPI-1047. It skips ORA-00000, which the driver puts before errors of its own,
// and ORA-06512, which is a line of a call stack.
func numbersIn(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`\b(ORA|DPI)-([0-9]{1,5})\b`).FindAllStringSubmatch(text, -1) {
		digits := len("01017")
		if m[1] == "DPI" {
			digits = len("1047")
		}
		n := m[1] + "-" + strings.Repeat("0", max(0, digits-len(m[2]))) + m[2]
		if n != "ORA-00000" && n != "ORA-06512" {
			list = append(list, n)
		}
	}
	return list
}

// oneLine joins the stacked lines of an Oracle error, and limits its length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 500 {
		text = string(runes[:500]) + "..."
	}
	return text
}

// explanation tells a user what an error number means.
type explanation struct {
	code      string
	what, fix string // what happened, and what to do
	general   bool   // another number in the same error is more specific
}

func (e explanation) sentence(number string) string {
	return fmt.Sprintf("%s (%s): %s", e.what, number, e.fix)
}

// explanations returns the explanations by number. Numbers with one meaning share a line.
func explanations() map[string]explanation {
	const (
		notReady = runfile.FailureDatabaseNotReady
		ended    = runfile.FailureDatabaseEnded
		full     = runfile.FailureNoSpace
		client   = runfile.FailureOracleClient
	)
	all := map[string]explanation{}
	add := func(isGeneral bool) func(numbers, code, what, fix string) {
		return func(numbers, code, what, fix string) {
			for n := range strings.FieldsSeq(numbers) {
				all[n] = explanation{code: code, what: what, fix: fix, general: isGeneral}
			}
		}
	}
	exact, general := add(false), add(true)
	// Connecting
	exact("ORA-12154", notReady, "the connect string is not understood", "write it as host:port/service")
	exact("ORA-12541 ORA-12543 ORA-12533", notReady, "no listener answers at the address of the connect string",
		"check host and port, and that the listener runs")
	exact("ORA-12514 ORA-12505 ORA-12521", notReady, "the listener knows no such service",
		"check the service in the connect string with lsnrctl services; a pluggable database must be open")
	exact("ORA-12170 ORA-12606 ORA-12535", notReady, "the database did not answer in time",
		"check that the pod may reach host and port (network policy, firewall)")
	exact("ORA-12545", notReady, "the host of the connect string has no address", "check its name, as a pod resolves it")
	exact("ORA-12516 ORA-12518 ORA-12519 ORA-12520", notReady,
		"the listener has no server process left for this session",
		"raise the init parameter processes, or use fewer users")
	exact("ORA-12537 ORA-12547", notReady, "the listener closed the connection",
		"look at the listener's and the alert log; a filter on client addresses, or a server that cannot start, does this")
	exact("ORA-12637", notReady, "the connection hung while it was made",
		"set DISABLE_OOB=ON in sqlnet.ora of the client")
	exact("ORA-01033", notReady, "the database is starting or shutting down",
		"wait until it is open, or look at its alert log")
	exact("ORA-01034", notReady, "the database is not started", "start it, or look at its alert log for why it ended")
	general("ORA-27101", notReady, "the instance does not run", "start it, or look at its alert log for why it ended")
	exact("ORA-01109", notReady, "the database is not open",
		"open it (ALTER DATABASE OPEN; ALTER PLUGGABLE DATABASE ... OPEN)")
	exact("ORA-00442", notReady, "Oracle Free runs one instance on a machine, and there is another",
		"place the pod on a node without one, or use another edition")
	// Accounts and privileges
	exact("ORA-01017 ORA-01005", runfile.FailurePassword, "the database refused the user name or the password",
		"put those of the database into the Secret that the benchmark names; a database that was created earlier "+
			"keeps its first password")
	exact("ORA-28000", runfile.FailurePassword, "the account is locked",
		"correct the password in the Secret, then unlock it with ALTER USER ... ACCOUNT UNLOCK")
	exact("ORA-28001", runfile.FailurePassword, "the password has expired",
		"give the user a new one and put it into the Secret")
	exact("ORA-01031", runfile.FailurePrivilege, "the user lacks a privilege",
		"use a user that may connect AS SYSDBA, such as sys, and a password file that knows it; for an external "+
			"database SYSDBA is optional, see database.external.role")
	exact("ORA-65096", runfile.FailureUnsupported, "schemas cannot be made in the root container of a database",
		"name a service of a pluggable database in database.external.services")
	exact("ORA-01950 ORA-01536", runfile.FailurePrivilege, "the user has no quota on the tablespace",
		"give it one with ALTER USER ... QUOTA UNLIMITED ON")
	// Running
	exact("ORA-03113 ORA-03114 ORA-03135 ORA-12571", ended, "the connection to the database was lost",
		"look at the alert log for why the server process or the instance ended")
	general("DPI-1080 DPI-1010", ended, "the connection to the database is closed",
		"look at the alert log for why the server process or the instance ended")
	exact("ORA-00028 ORA-02396", ended, "the session was killed",
		"ask who did it; a profile with a time limit does it, too")
	exact("ORA-01089 ORA-01092", ended, "the instance is being shut down", "look at the alert log for who asked for it")
	exact("ORA-00020 ORA-00018", runfile.FailureParameter, "the instance has no process left for another session",
		"raise the init parameter processes, or use fewer users")
	exact("ORA-04031 ORA-04030", runfile.FailureParameter, "the instance has too little memory",
		"raise shared_pool_size or sga_target, and the memory of the container with it")
	exact("ORA-02065 ORA-02095 ORA-02097 ORA-00068 ORA-02248 ORA-00119", runfile.FailureParameter,
		"an init parameter was refused", "check its name and value in parameters of the database")
	exact("ORA-00821", runfile.FailureParameter, "the instance does not start with its memory sizes",
		"raise sga_target, or lower the parts of the SGA")
	exact("ORA-27102 ORA-27123 ORA-27125", runfile.FailureParameter, "the instance gets no shared memory for its SGA",
		"lower sga_target, or raise kernel.shmall and kernel.shmmax of its machine, and the memory of its container")
	exact("ORA-01081", ended, "the instance runs already, or has left shared memory behind",
		"end the pod, with which its shared memory goes, and run again")
	exact("ORA-28003", runfile.FailureSQL, "the password function of the profile DEFAULT refuses the password of a schema",
		"let the profile of new users have a function that takes 28 characters with two of each kind")
	exact("ORA-02391", runfile.FailureParameter, "the profile of the users limits their sessions",
		"raise SESSIONS_PER_USER of the profile, or use fewer users")
	exact("ORA-00439", runfile.FailureUnsupported, "this edition does not have a feature that the statement uses",
		"use the edition that has it, or leave out the field that asks for it")
	exact("ORA-32001 ORA-32000", runfile.FailureParameter, "the instance runs without an spfile",
		"CREATE SPFILE FROM MEMORY and restart, or leave out the parameters")
	exact("ORA-01013", runfile.FailureCancelled, "the statement was cancelled",
		"it ran longer than the run allows, or the run was ended")
	general("ORA-00604", runfile.FailureSQL, "a statement of the database's own failed", "see the other errors")
	general("ORA-12801", runfile.FailureSQL, "a parallel query server failed", "see the other errors")
	// Files and space
	exact("ORA-01653 ORA-01654 ORA-01658 ORA-01659 ORA-01688 ORA-01691", full, "the tablespace is full",
		"add space to it, or make scale, scanTableSize or schemas smaller")
	exact("ORA-01652", full, "the temporary tablespace is full, or the one that an index is built in",
		"add space to it, or make scale smaller")
	exact("ORA-12953 ORA-12954", full, "this edition allows no more user data (12 GB in Oracle Free)",
		"make schemas x (scale + scanTableSize) smaller, or use another edition")
	exact("ORA-00257", full, "the archiver has no space, and the database waits",
		"free the recovery area, or switch archiving off for the benchmark")
	exact("ORA-30036", full, "the undo tablespace is full", "add space to it, or lower updatePercent")
	exact("ORA-27054", runfile.FailureUnsupported, "Oracle refuses the options that the NFS volume is mounted with",
		"mount it hard, with rsize and wsize of at least 32768, or use Direct NFS")
	exact("ORA-27072 ORA-27061 ORA-27070 ORA-27069 ORA-17500 ORA-17503", runfile.FailureIO,
		"an I/O on a file of the database failed",
		"look at the alert log and at the NFS server; with NFSv4 a lease that expired does this")
	general("ORA-01115 ORA-01110 ORA-01114 ORA-15025", runfile.FailureIO,
		"a file of the database could not be read or written", "look at the alert log and at the NFS server")
	general("ORA-01119 ORA-27040 ORA-27041", runfile.FailureIO, "a file of the database could not be made or opened",
		"check that the directory exists and belongs to the owner of the database (54321 in Oracle's images)")
	// CALIBRATE_IO
	const raise = "sysctl -w fs.aio-max-nr=3145728 on the machine of the database (the default of kernels is 65536 " +
		"for all processes together; compare with fs.aio-nr)"
	exact("ORA-27090", runfile.FailureAsyncIO, "the kernel has no asynchronous I/O left for the database",
		raise+", or use Direct NFS, which does not need it")
	exact("ORA-56708", runfile.FailureAsyncIO, "CALIBRATE_IO found no datafile with asynchronous I/O",
		"set filesystemio_options to SETALL and restart; if V$IOSTAT_FILE.ASYNCH_IO is ASYNC_ON already, then "+raise+
			"; or use Direct NFS")
	exact("ORA-56709", runfile.FailureTimedStatistics, "CALIBRATE_IO needs timed_statistics, which is FALSE",
		"set timed_statistics to TRUE, or statistics_level to TYPICAL")
	// The client library
	exact("DPI-1047", client, "Oracle's client library was not found, or not loaded",
		"use an image with ORACLE_HOME/lib/libclntsh.so or Instant Client in it, and libaio; it must not be one of Alpine")
	exact("DPI-1072 DPI-1050", client, "Oracle's client library is of a release that is not supported",
		"use an image with client 12.1 or later; some functions need 19 or later")
	return all
}
