package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const (
	listenerFile    = "listener.ora"
	namesFile       = "tnsnames.ora"
	maxNetFileBytes = 64 << 10
	anyHost         = "0.0.0.0"
)

// mendNetFiles makes listener and instance independent of the host that the database was created
// on. The images of Oracle Free write its name into listener.ora and tnsnames.ora and keep both on
// the volume, and on another host the listener does not start. It returns what it has changed.
//
// In tnsnames.ora only the addresses of this database change: those of the host that listener.ora
// names, and LISTENER_<SID>, by which the instance finds its listener.
func (o Options) mendNetFiles(home string) (mended []string, err error) {
	mended, err = o.mendNetFilesIn(o.DataDirectory, filepath.Join(configFolder, o.SID))
	if err != nil {
		return mended, oracle.Failf(runfile.FailureAccessDenied,
			"a file of Oracle Net names another host, with which the listener does not start, and cannot be corrected: %v; "+
				"make it a plain file of the user oracle (54321), with HOST = %s", err, anyHost)
	}
	// An image without a database on a volume, or with one of its own, keeps them here.
	inImage, _ := filepath.Glob(filepath.Join(o.base(), "homes", "*", "network", "admin")) // none with a bad pattern
	if home != "" {
		inImage = append(inImage, filepath.Join(home, "network", "admin"))
	}
	for _, dir := range inImage {
		changed, err := o.mendNetFilesIn(dir, "")
		mended = append(mended, changed...)
		if err != nil { // the start may replace it by a link to the one on the volume
			o.Log.Warn("A file of Oracle Net names another host and cannot be corrected", "error", err)
		}
	}
	return mended, nil
}

func (o Options) mendNetFilesIn(dir, folder string) (mended []string, err error) {
	listener, err1 := readNetFile(dir, filepath.Join(folder, listenerFile))
	names, err2 := readNetFile(dir, filepath.Join(folder, namesFile))
	if err := errors.Join(err1, err2); err != nil {
		o.Log.Warn("A file of Oracle Net is left as it is", "error", err)
	}
	for _, f := range o.changeNetFiles(listener, names) {
		path := filepath.Join(dir, folder, f.name)
		if err := replaceKeepingMode(dir, filepath.Join(folder, f.name), f.text); err != nil {
			return mended, err
		}
		change := fmt.Sprintf("%s: HOST = %s is now %s", path, clip(strings.Join(f.old, ", ")), f.host)
		o.Log.Info("A file of Oracle Net named another host", "change", change)
		mended = append(mended, change)
	}
	return mended, nil
}

// netFile is a file of Oracle Net that changes.
type netFile struct {
	name string
	old  []string // hosts that it names
	host string   // in place of them
	text []byte   // what it becomes
}

// changeNetFiles returns what changes of the texts. The listener's file is last: while it names
// the other host, the names are looked at again.
func (o Options) changeNetFiles(listener, names []byte) []netFile {
	stale := o.otherHosts(listener)
	// An entry goes on in lines that begin with a blank.
	own := regexp.MustCompile(`(?im)^LISTENER_` + regexp.QuoteMeta(o.SID) + `\s*=.*\n?(?:[ \t].*\n?)*`).Find(names)
	var out []netFile
	for _, f := range []netFile{
		{name: namesFile, old: append(o.otherHosts(own), stale...), host: o.Hostname, text: names},
		{name: listenerFile, old: stale, host: anyHost, text: listener},
	} {
		before := f.text
		if f.text = replaceHosts(before, f.old, f.host); !bytes.Equal(f.text, before) {
			out = append(out, f)
		}
	}
	return out
}

func hostPattern() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\(\s*HOST\s*=\s*)([^()\s]+)(\s*\))`)
}

// otherHosts are those of the addresses in a text at which nothing can listen in this container.
func (o Options) otherHosts(text []byte) []string {
	var out []string
	for _, m := range hostPattern().FindAllSubmatch(text, -1) {
		host := string(m[2])
		ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
		here := strings.EqualFold(host, o.Hostname) || strings.EqualFold(host, "localhost") ||
			err == nil && (ip.IsUnspecified() || ip.IsLoopback())
		if !here && !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	return out
}

func replaceHosts(text []byte, old []string, host string) []byte {
	pattern := hostPattern()
	return pattern.ReplaceAllFunc(text, func(address []byte) []byte {
		m := pattern.FindSubmatch(address)
		if !slices.Contains(old, string(m[2])) {
			return address
		}
		return slices.Concat(m[1], []byte(host), m[3])
	})
}

// readNetFile returns nothing where there is no such file, or where it is a link: the images
// link to the file on the volume.
func readNetFile(dir, name string) ([]byte, error) {
	if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	return shareddir.Read(dir, name, maxNetFileBytes)
}

// replaceKeepingMode replaces a file at once, with the mode that it had.
func replaceKeepingMode(dir, name string, text []byte) error {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return shareddir.ReplaceSynced(dir, name, text, info.Mode().Perm())
}
