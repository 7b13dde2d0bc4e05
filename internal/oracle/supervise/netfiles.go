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

// mendNetFiles makes listener and instance independent of the host on which the database was created. The images of
// Oracle Free write the host name into listener.ora and tnsnames.ora on the volume, and on another host the listener
// does not start. It returns the changed files.
//
// In tnsnames.ora it changes only the addresses of this database: the host that listener.ora names, and
// LISTENER_<SID>, through which the instance finds its listener.
func (o Options) mendNetFiles(home string) (mended []string, err error) {
	mended, err = o.mendNetFilesIn(o.DataDirectory, filepath.Join(configFolder, o.SID))
	if err != nil {
		return mended, oracle.Failf(runfile.FailureAccessDenied,
			"a file of Oracle Net names another host, with which the listener does not start, and cannot be corrected: %v; "+
				"make it a plain file of the user oracle (54321), with HOST = %s", err, anyHost)
	}
	// An image without a database on a volume, or with a built-in database, keeps the files here.
	inImage, _ := filepath.Glob(filepath.Join(o.base(), "homes", "*", "network", "admin")) // none with a bad pattern
	if home != "" {
		inImage = append(inImage, filepath.Join(home, "network", "admin"))
	}
	for _, dir := range inImage {
		changed, err := o.mendNetFilesIn(dir, "")
		mended = append(mended, changed...)
		if err != nil { // the start may replace it with a link to the file on the volume
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

// netFile is a changed file of Oracle Net.
type netFile struct {
	name string
	old  []string // hosts to replace
	host string   // replacement
	text []byte   // new content
}

// changeNetFiles returns the changed files, the listener's file last: as long as it names the other host, the next
// start checks the names again.
func (o Options) changeNetFiles(listener, names []byte) []netFile {
	stale := o.otherHosts(listener)
	// Lines that begin with a blank continue an entry.
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

// otherHosts returns the hosts in the addresses of a text that this container cannot listen on.
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

// readNetFile returns nothing if the file does not exist or is a link: the images link to the file on the volume.
func readNetFile(dir, name string) ([]byte, error) {
	if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	return shareddir.Read(dir, name, maxNetFileBytes)
}

// replaceKeepingMode replaces a file atomically and keeps its mode.
func replaceKeepingMode(dir, name string, text []byte) error {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return shareddir.ReplaceSynced(dir, name, text, info.Mode().Perm())
}
