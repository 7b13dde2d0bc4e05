package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Bounds of the search for an export, also for a server that generates directories without end.
const (
	findTimeout     = 10 * time.Second
	findDirectories = 200 // directories to read
	findLevels      = 5   // below the pseudo root
	findPages       = 8   // READDIRs of one directory
	findNames       = 4   // names in a message
	quotedBytes     = 160 // of a name or path in a message
	maxComponents   = 64  // components of a path that are looked up one by one
)

// errNoDirectory reports that the export is a file.
var errNoDirectory = fmt.Errorf("the path does not lead to a directory: %w", v4.ErrNotDir)

// quoted quotes and shortens a name from a server for a message.
func quoted(name string) string {
	if len(name) > quotedBytes {
		name = name[:quotedBytes] + "..."
	}
	return fmt.Sprintf("%q", name)
}

func quotedPath(names []string) string { return quoted("/" + strings.Join(names, "/")) }

func quotedPaths(paths [][]string, separator string) string {
	var all []string
	for _, p := range paths {
		all = append(all, quotedPath(p))
	}
	return strings.Join(all, separator)
}

// lookupAll returns the operations that make the directory at a path the current file handle.
func lookupAll(names []string) []v4.Operation {
	ops := []v4.Operation{&v4.PutRootFH{}}
	for _, name := range names {
		ops = append(ops, &v4.Lookup{Name: name})
	}
	return ops
}

// path explains an export that is missing from the pseudo file system, in two sentences.
func (q *inquiry) path(ctx context.Context) string {
	if errors.Is(q.err, errNoDirectory) {
		return quotedPath(q.names) + " is a file or a symbolic link on the server; name the directory that is exported"
	}
	if q.server == nil || ctx.Err() != nil {
		return "there is no directory " + quotedPath(q.names) + ". " + q.pathAdvice(q.local)
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	f := &finder{server: q.server, want: q.names}
	says := q.missing(ctx) + "; "
	f.search(ctx)
	if meant := f.meant(); meant != "" {
		return says + "did you mean " + meant + "? " + q.pathAdvice(nil)
	}
	return says + f.shown() + ". " + q.pathAdvice(q.local) // NFS-Ganesha hides exports from ports above 1023
}

// pathAdvice says how paths of NFSv4 differ from those of NFSv3, and what to check. local holds the local addresses of
// the connections if their ports may be the reason, and is empty otherwise.
func (q *inquiry) pathAdvice(local []net.Addr) string {
	says := "NFSv4 paths begin at a root of their own (ONTAP: junction path; FlashBlade: / and the file system; Linux: " +
		"below fsid=0; NFS-Ganesha: Pseudo), and servers hide closed exports: check the path, and that the export policy " +
		"admits NFSv4 from " + cmp.Or(q.hosts(), "this client")
	if slices.ContainsFunc(local, isHighPort) {
		says += ", also from ports above 1023"
	}
	return says
}

// meant names the directories that may be the export; empty if there are none.
func (f *finder) meant() string {
	if len(f.found) == 0 {
		return f.near
	}
	return quotedPaths(f.found, " or ")
}

// shown names the exports.
func (f *finder) shown() string {
	if len(f.exports) == 0 {
		return "the server shows this client no export"
	}
	says := "what it exports to this client is " + quotedPaths(f.exports, ", ")
	if f.more {
		says += " and more"
	}
	return says
}

// readOnly explains why nothing can be created in the mounted directory.
func (q *inquiry) readOnly(ctx context.Context) string {
	says := quotedPath(q.names) + " is read-only: its export policy allows no writing (ONTAP: -rwrule; FlashBlade: rw " +
		"in the NFS rule; Linux: rw in /etc/exports), or it belongs to the pseudo file system, above the exports"
	if q.server == nil || ctx.Err() != nil {
		return says
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	f := &finder{server: q.server}
	f.search(ctx)
	return says + "; " + f.shown()
}

// missing returns where the path ends.
func (q *inquiry) missing(ctx context.Context) string {
	for i := range q.names[:min(len(q.names), maxComponents)] {
		err := q.server.do(ctx, lookupAll(q.names[:i+1])...)
		switch {
		case err == nil:
			continue
		case errors.Is(err, v4.ErrNoEnt):
			return fmt.Sprintf("there is no %s in %s", quoted(q.names[i]), quotedPath(q.names[:i]))
		case errors.Is(err, v4.ErrSymlink), errors.Is(err, v4.ErrNotDir):
			return quotedPath(q.names[:i]) + " is no directory: name the path that it leads to"
		default:
			return "there is no directory " + quotedPath(q.names)
		}
	}
	return "there is no directory " + quotedPath(q.names)
}

// finder looks for an export in the pseudo file system.
type finder struct {
	server *serverV4
	want   []string

	found   [][]string // directories that may be the export, at most findNames
	exports [][]string // roots of other file systems, at most findNames
	near    string     // the quoted path of an export whose name is nearly that of the path; empty if there is none
	more    bool       // there are more exports
	score   int        // number of trailing components that found shares with want
}

// search first removes leading components of the path, which finds exports below a root that is itself exported. Then
// it reads the directories from the root down, level by level.
func (f *finder) search(ctx context.Context) {
	for i := 1; i < min(len(f.want), maxComponents); i++ {
		get := v4.GetAttr{Request: v4.Bits(v4.AttrType)}
		err := f.server.do(ctx, append(lookupAll(f.want[i:]), &get)...)
		if err == nil && get.Attrs.Type == v4.TypeDirectory {
			f.found = [][]string{f.want[i:]}
			return
		}
	}
	level := []findDir{{}}
	read := 0
	for depth := 0; depth < findLevels && len(level) > 0; depth++ {
		var next []findDir
		for _, d := range level {
			if read++; read > findDirectories || ctx.Err() != nil {
				return
			}
			next = append(next, f.read(ctx, d)...)
			next = next[:min(len(next), findDirectories)]
		}
		level = next
	}
}

// findDir is a directory and its file system.
type findDir struct {
	path []string
	fs   v4.FSID
}

// read returns the directories in a directory, and records candidates.
func (f *finder) read(ctx context.Context, dir findDir) (dirs []findDir) {
	get := v4.GetAttr{Request: v4.Bits(v4.AttrFSID)}
	read := v4.ReadDir{
		DirCount: readDirBytes / 4, MaxCount: readDirBytes, Request: v4.Bits(v4.AttrType, v4.AttrFSID, v4.AttrReadDirError),
	}
	for range findPages {
		if err := f.server.do(ctx, append(lookupAll(dir.path), &get, &read)...); err != nil {
			return dirs
		}
		dir.fs = get.Attrs.FSID
		for i := range read.Entries {
			if d, ok := directoryOf(&read.Entries[i], dir.path); ok && len(dirs) < findDirectories {
				dirs = append(dirs, d)
				f.consider(d, dir)
			}
		}
		if read.EOF || len(read.Entries) == 0 {
			return dirs
		}
		read = v4.ReadDir{
			Cookie: read.Entries[len(read.Entries)-1].Cookie, CookieVerifier: read.Verifier,
			DirCount: read.DirCount, MaxCount: read.MaxCount, Request: read.Request,
		}
	}
	return dirs
}

// directoryOf returns the directory of an entry; false if no path can lead to it.
func directoryOf(e *v4.DirEntry, above []string) (findDir, bool) {
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
		return findDir{}, false
	}
	var a v4.Attrs
	if err := a.DecodeValues(e.AttrMask, e.AttrValues); err != nil || a.Type != v4.TypeDirectory {
		return findDir{}, false
	}
	return findDir{path: append(slices.Clone(above), e.Name), fs: a.FSID}, true
}

// consider records a directory if it may be the export or the root of a file system.
func (f *finder) consider(d, above findDir) {
	same := 0
	for same < min(len(d.path), len(f.want)) &&
		strings.EqualFold(d.path[len(d.path)-1-same], f.want[len(f.want)-1-same]) {
		same++
	}
	switch {
	case same > f.score:
		f.score, f.found = same, [][]string{d.path}
	case same > 0 && same == f.score && len(f.found) < findNames:
		f.found = append(f.found, d.path)
	}
	if d.fs == above.fs {
		return
	}
	if path := "/" + strings.Join(d.path, "/"); f.near == "" &&
		human.Nearest("/"+strings.Join(f.want, "/"), []string{path}) != "" {
		f.near = quoted(path)
	}
	if f.more = len(f.exports) == findNames; !f.more {
		f.exports = append(f.exports, d.path)
	}
}

// referral asks for the location of a file system that is on another server (RFC 8881 section 11.16).
func (q *inquiry) referral(ctx context.Context) string {
	const says = "the server refers to another one for this path, and this client follows no referrals"
	const fix = " (ONTAP: -v4.0-referrals and -v4.1-referrals of 'vserver nfs modify' switch referrals off; FlashBlade " +
		"has none; Linux: refer= in /etc/exports)"
	where := ""
	if q.server != nil {
		where = q.locations(ctx)
	}
	if where == "" {
		return says + "; it does not say where the file system is: ask who runs it" + fix
	}
	return says + "; use " + where + " instead" + fix
}

// locations requests fs_locations at the end of the path, and then further up: only the directory that is on another
// server answers.
func (q *inquiry) locations(ctx context.Context) string {
	names := q.names[:min(len(q.names), maxComponents)]
	for i := len(names); i >= 0; i-- {
		get := v4.GetAttr{Request: v4.Bits(v4.AttrFSLocations)}
		if err := q.server.do(ctx, append(lookupAll(names[:i]), &get)...); err != nil {
			continue
		}
		l := get.Attrs.FSLocations
		rest := q.names[i:]
		if n := len(l.Root); n <= len(q.names) && slices.Equal(l.Root, q.names[:n]) {
			rest = q.names[n:]
		}
		return placesOf(l.Locations, rest)
	}
	return ""
}

// placesOf formats servers and paths.
func placesOf(locations []v4.FSLocation, rest []string) string {
	var all []string
	for _, at := range locations {
		var servers []string
		for _, s := range at.Servers[:min(len(at.Servers), findNames)] {
			servers = append(servers, quoted(s))
		}
		if len(servers) == 0 || len(all) == findNames {
			continue
		}
		all = append(all, fmt.Sprintf("export %s of server "+
			"%s", quotedPath(slices.Concat(at.Root, rest)), strings.Join(servers, ", ")))
	}
	return strings.Join(all, ", or ")
}
