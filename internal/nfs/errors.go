package nfs

import (
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// IsNoSpace reports whether err says that the storage or the quota is full.
func IsNoSpace(err error) bool { return v3.IsNoSpace(err) }

// IsStale reports whether err says that a file behind a handle is gone.
func IsStale(err error) bool { return v3.IsStale(err) }

// IsNotExist reports whether err says that a name does not exist.
func IsNotExist(err error) bool { return v3.IsNotExist(err) }

// IsExist reports whether err says that a name exists already.
func IsExist(err error) bool { return v3.IsExist(err) }

// IsPermission reports whether err says that the user may not do this.
func IsPermission(err error) bool { return v3.IsPermission(err) }
