package connect

import (
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/embedded"
)

// Options is what a source needs beside its description.
type Options struct {
	// SecretsDir is the folder below which Source.Credentials is looked for.
	SecretsDir string
	Now        func() time.Time
}

// Open makes the source that s describes. Nothing is asked of the storage yet. An
// error is permanent: another description or other credentials are needed.
func Open(s runfile.Source, _ Options) (storage.Source, error) {
	switch s.Kind {
	case runfile.SourceEmbedded:
		return embedded.New(s.URL)
	default:
		return nil, storage.Permanent(fmt.Errorf("source kind %q is not known", s.Kind))
	}
}
