package oracle

import (
	"io"
	"time"
)

// The names that Oracle Free gives.
const (
	DefaultSID = "FREE"
	DefaultPDB = "FREEPDB1"
)

// Editions that differ in what they allow.
const (
	EditionFree       = "free"
	EditionEnterprise = "enterprise"
)

// version is that of the release whose rules are played.
const version = "23.0.0.0.0"

// Config is what an Instance is made of. Zero values mean what is said there.
type Config struct {
	Data    string // the data directory; required
	Home    string // ORACLE_HOME; empty = no Direct NFS library anywhere
	Base    string // ORACLE_BASE, for the alert log; empty = none is written
	SID     string // DefaultSID
	PDB     string // DefaultPDB
	Edition string // EditionFree
	Host    string // V$INSTANCE.HOST_NAME
	// Passwords of SYS, SYSTEM and PDBADMIN at the first start; later starts keep
	// what the first one set.
	Password string
	Listen   string // 127.0.0.1:0
	// Parameters are init parameters of the first start.
	Parameters map[string]string
	// DatafilePercent scales the datafiles that the first start makes; 100 = 152 MiB.
	DatafilePercent int
	// Calibrate is how long CALIBRATE_IO loads; 4 s.
	Calibrate time.Duration
	// Milliseconds makes V$IOSTAT_FILE count times in the unit that Oracle's
	// documentation names, not in the one that it was seen to use.
	Milliseconds bool
	Direct       DirectConfig
	Faults       Faults
	Fixture      *Fixture
	Now          func() time.Time // required
	Out          io.Writer        // lines of the alert log; nil = nowhere
}

// DirectConfig says where Direct NFS finds what it needs.
type DirectConfig struct {
	Etc        string // of /etc/oranfstab; "/etc"
	MountTable string // "/proc/self/mounts"
	// AnyMount takes a data directory that is no NFS mount: where a kernel has no
	// NFS the folder behind the export stands for the mount.
	AnyMount bool
	// NFSPort, MountPort and PortmapPort are those of internal/nfs.Config.
	NFSPort, MountPort, PortmapPort int
	// Privileged says whether oradism may act as root; nil = look.
	Privileged func() bool
	// Hang makes an oranfstab that Oracle would refuse hang the start, which is
	// the other thing that Oracle is known to do with one.
	Hang bool
}

// Faults are what goes wrong on request.
type Faults struct {
	Fallback bool // Direct NFS is set up and silently not used
	AsyncOff bool // ASYNCH_IO is ASYNC_OFF everywhere
	// FullAfter makes datafiles grow to so many bytes in all; 0 = no such limit.
	FullAfter int64
	Delay     time.Duration // before each I/O ends: slow storage
}

func (c Config) withDefaults() Config {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&c.SID, DefaultSID)
	set(&c.PDB, DefaultPDB)
	set(&c.Edition, EditionFree)
	set(&c.Host, "standin")
	set(&c.Listen, "127.0.0.1:0")
	set(&c.Direct.Etc, "/etc")
	set(&c.Direct.MountTable, "/proc/self/mounts")
	if c.DatafilePercent <= 0 {
		c.DatafilePercent = 100
	}
	if c.Calibrate <= 0 {
		c.Calibrate = 4 * time.Second
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}
