package judge

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
)

// flattered says why a run of the kernel's client without asynchronous I/O is no basis for comparison.
const flattered = "Direct NFS needs no asynchronous I/O of the kernel: compared with this run, it looks better than " +
	"it is."

// checkAsync looks for data files without asynchronous I/O, and for a node on which no process
// had any under load.
func checkAsync(c *facts, found *findings) {
	direct := c.Plan.Database.DirectNFS
	if files := c.SyncFiles(); len(files) > 0 {
		hint := "Set filesystemio_options=SETALL in database.container.parameters, and leave disk_asynch_io at TRUE. " +
			flattered
		if direct {
			hint = "Direct NFS is asynchronous by itself: leave disk_asynch_io at TRUE, and check that Direct NFS is " +
				"active."
		}
		found.warn(SyncIO, "Data files without asynchronous I/O (V$IOSTAT_FILE.ASYNCH_IO is ASYNC_OFF): %s. Each process "+
			"then has one read at a time. %s", listed(files), hint)
	} else if most, _ := c.AsyncIO(); most != nil && most.Requests == 0 && !direct {
		found.warn(SyncIO, "No process of the node had asynchronous I/O of the kernel under load (fs.aio-nr is 0). "+
			"V$IOSTAT_FILE.ASYNCH_IO only says that the files are capable of it. Check filesystemio_options and "+
			"disk_asynch_io, and the alert log for ORA-27090. %s", flattered)
	}
}

// checkAsyncLimit reports asynchronous I/O near the limit of the kernel: a process that starts at the limit gets
// none, and reads one block at a time, or fails.
func checkAsyncLimit(c *facts, found *findings) {
	most, _ := c.AsyncIO()
	if most == nil || most.Limit <= 0 || float64(most.Requests)*1000 < float64(most.Limit)*asyncUsed {
		return
	}
	severity, hint := bench.SeverityWarning, flattered
	if c.Plan.Database.DirectNFS {
		severity = bench.SeverityInfo
		hint = "Direct NFS does not need it, but a comparison with the kernel's client on this node would not be fair."
	}
	found.add(AsyncIOExhausted, severity, "The node's asynchronous I/O was nearly used up under load: fs.aio-nr %d of "+
		"fs.aio-max-nr %d. Processes that get none read synchronously, or fail with ORA-27090. Set fs.aio-max-nr to "+
		"3145728 on the node (sysctl). %s", most.Requests, most.Limit, hint)
}

// asyncText returns the sentence about asynchronous I/O for the evidence.
func (c *facts) asyncText() string {
	most, idle := c.AsyncIO()
	if most == nil {
		return ""
	}
	before := ""
	if idle != nil {
		before = fmt.Sprintf(", and %d before it", idle.Requests)
	}
	return fmt.Sprintf(" Asynchronous I/O of the node: fs.aio-nr was %d under load%s, of fs.aio-max-nr %d.", most.Requests,
		before, most.Limit)
}
