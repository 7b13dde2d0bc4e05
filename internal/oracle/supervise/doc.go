// Package supervise is what runs first in the container of a database: it
// switches Direct NFS on or off, checks what Oracle would only hint at in its
// alert log, starts the image's own start command and watches over it.
//
// A container goes through
//
//	Preparing ─▶ Starting ─▶ Ready ─▶ Stopped
//	    │            │         │ ▲
//	    ▼            ▼         ▼ │ (the loader asks)
//	  Failed ◀───────┴───── Restarting
//
// and says so in one file of the run directory (runfile.DatabaseState), which is
// replaced as a whole each time. Everything that goes wrong is one sentence
// there, in the log and in the error that ends the program.
//
// The image stays as its maker built it: nothing but the library of Direct NFS
// in $ORACLE_HOME/rdbms/lib/odm is changed, and that as `make -f ins_rdbms.mk
// dnfs_on` does.
package supervise
