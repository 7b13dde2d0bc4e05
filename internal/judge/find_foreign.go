package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkForeignLoad looks for others in the idle baseline before a repetition.
// Under load, what the storage moved beyond the clients is ArrayDisagrees.
func (c *judging) checkForeignLoad() {
	for _, s := range c.repetitions {
		var seen []string
		for _, cl := range c.result.Clients {
			seen = append(seen, c.foreignOnClient(cl, s)...)
		}
		if len(seen) > 0 {
			c.add(ForeignLoad, Warning, "Repetition %s was not alone: %s. Run again when the machines are quiet, or say why this load belongs to it.", s.name(), strings.Join(seen, ", "))
		}
	}
}

func (c *judging) foreignOnClient(cl runfile.ClientResult, s Summary) []string {
	w := windowOf(cl, windowBaseline, s.Repetition)
	if w == nil {
		return nil
	}
	seconds := w.End.Sub(w.Start).Seconds()
	if seconds <= 0 {
		return nil
	}
	var seen []string
	limit := max(foreignBytesPerSecond, s.Total.bytesPerSec*foreignShare/1000)
	for _, i := range w.Interfaces {
		if rate := float64(i.ReceivedBytes+i.SentBytes) / seconds; i.Name != "lo" && rate > limit {
			seen = append(seen, fmt.Sprintf("%s of client %d carried %s while idle", i.Name, cl.Index, megabytes(int64(rate))))
		}
	}
	if atLeastPermille(w.NodeCPUPermille, foreignCPU) {
		seen = append(seen, fmt.Sprintf("the machine of client %d was %s busy while idle", cl.Index, permilleText(w.NodeCPUPermille)))
	}
	if cl.Index != c.result.Clients[0].Index {
		return seen // the storage's counters are the same for all clients
	}
	for _, st := range w.Storage {
		if rate, known := opsRate(st); known && rate > max(foreignOpsPerSecond, s.Total.iopsSec*foreignShare/1000) {
			seen = append(seen, fmt.Sprintf("storage %s did %.0f operations/s while idle", st.Source, rate))
		}
	}
	return seen
}

func opsRate(w runfile.StorageWindow) (float64, bool) {
	if w.Reset || w.Seconds <= 0 || w.ReadOps == nil || w.WriteOps == nil {
		return 0, false
	}
	return float64(*w.ReadOps+*w.WriteOps) / w.Seconds, true
}

func bytesRate(w runfile.StorageWindow) (float64, bool) {
	if w.ReadBytes == nil || w.WriteBytes == nil {
		return 0, false
	}
	return float64(*w.ReadBytes+*w.WriteBytes) / w.Seconds, true
}
