package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// dnfs is `make -f ins_rdbms.mk dnfs_on` in $ORACLE_HOME/rdbms/lib: it copies the
// library of Direct NFS into rdbms/lib/odm, and dnfs_off removes it.
func dnfs(e environment, args []string, stderr io.Writer) int {
	if len(args) != 3 || args[0] != "-f" || filepath.Base(args[1]) != "ins_rdbms.mk" {
		fmt.Fprintln(stderr, "make: *** No targets specified and no makefile found.  Stop.")
		return 2
	}
	home := e.get("ORACLE_HOME")
	to := filepath.Join(home, "rdbms/lib/odm/libnfsodm.so")
	var err error
	switch args[2] {
	case "dnfs_on":
		var text []byte
		if text, err = os.ReadFile(filepath.Join(home, "lib/libnfsodm.so")); err == nil {
			err = os.WriteFile(to, text, 0o755)
		}
	case "dnfs_off":
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	default:
		err = fmt.Errorf("no rule to make target '%s'", args[2])
	}
	if err != nil {
		fmt.Fprintf(stderr, "make: *** %v.  Stop.\n", err)
		return 2
	}
	return 0
}
