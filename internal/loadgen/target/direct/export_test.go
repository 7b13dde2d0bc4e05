package direct

import (
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
)

// UncommittedBytes tells tests how much of a file waits for a COMMIT.
func UncommittedBytes(f target.File) int64 {
	return f.(*file).f.UncommittedBytes() //nolint:forcetypeassert // tests open nothing else
}

// ExplainNotListed is explainNotListed of a server at 10.0.1.61.
func ExplainNotListed(export string, listed []string, status mount.Status) error {
	refused := &nfs.RefusedExportError{Listed: listed, Client: "10.0.9.1", Err: status}
	return (&Target{where: "10.0.1.61"}).explainNotListed(export, refused, status, refused)
}
