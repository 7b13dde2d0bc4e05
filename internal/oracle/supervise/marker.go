package supervise

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// MarkerFile on a volume names the databases there that were created for benchmarks. It does not cover files that
// users add to the volume later.
const MarkerFile = ".nfsbench-database"

const (
	maxMarker = 64 << 10
	// maxDatabases and maxIDs bound the databases in a marker and the DBIDs of a database: a creation uses a few, and
	// each container of a database may have one.
	maxDatabases, maxIDs = 64, 16
	// maxLooked bounds the entries of a volume that are searched for database files.
	maxLooked = 10000
)

// marker is the content of MarkerFile.
type marker struct {
	About     string        `json:"about"`
	Databases []ownDatabase `json:"databases"`

	distrusted string // why the marker is not trusted
}

// ownDatabase is a database whose creation a run has begun. The run records it before it starts the image.
type ownDatabase struct {
	SID string `json:"sid"`
	// Created reports that the image has recorded the successful creation on the volume. It then opens this database and
	// does not create it again.
	Created bool `json:"created"`
	// DBIDs are the IDs in the headers of the database's files, from its creation or later.
	DBIDs []uint32 `json:"dbids,omitempty"`
}

// readMarker reads the marker of a volume. A marker that is distrusted, or that no run can have written, names no
// database.
func readMarker(dataDirectory string, distrust distrusting) (marker, error) {
	f, err := shareddir.Open(dataDirectory, MarkerFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return marker{}, nil
	case errors.Is(err, shareddir.ErrNotPlain):
		return marker{distrusted: "which is no plain file"}, nil
	case err != nil:
		return marker{}, fmt.Errorf("read which databases were created for benchmarks: %w", err)
	}
	defer func() { _ = f.Close() }()
	why, err := distrust(f)
	if err != nil || why != "" {
		return marker{distrusted: why}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMarker+1))
	if err != nil {
		return marker{}, fmt.Errorf("read which databases were created for benchmarks: %w", err)
	}
	var m marker
	if len(text) > maxMarker || json.Unmarshal(text, &m) != nil || !m.isOurs() {
		m = marker{}
	}
	return m, nil
}

// distrusting returns why a marker is not trusted, whatever its content is; empty = it is trusted.
type distrusting func(*os.File) (why string, err error)

// distrustOthers trusts only files of the given users. A user who may create links could give a trusted user's file
// the name of the marker, so the file must have no other name.
func distrustOthers(f *os.File, users ...int) (why string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || s.Nlink > 1:
		return "which has a second name", nil
	case !slices.Contains(users, int(s.Uid)):
		return fmt.Sprintf("which belongs to user %d, who is not the user of the database", s.Uid), nil
	}
	return "", nil
}

// readMarker reads the marker of a run. It trusts a marker of this user or of root, or of the user whom the storage
// makes the owner of this user's files.
func (o Options) readMarker() (marker, error) {
	return readMarker(o.DataDirectory, func(f *os.File) (string, error) {
		why, err := distrustOthers(f, 0, os.Geteuid())
		if err != nil || why == "" {
			return why, err
		}
		mine, err := os.CreateTemp(o.DataDirectory, tryWritePrefix+"*")
		if err != nil {
			return why, nil //nolint:nilerr // where nothing can be written nothing is ours
		}
		defer func() { _ = errors.Join(mine.Close(), os.Remove(mine.Name())) }()
		info, err := mine.Stat()
		if err != nil {
			return "", err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			return distrustOthers(f, int(s.Uid))
		}
		return why, nil
	})
}

// isOurs reports whether a run can have written the marker.
func (m *marker) isOurs() bool {
	return len(m.Databases) <= maxDatabases && !slices.ContainsFunc(m.Databases, func(d ownDatabase) bool {
		return !isSID(d.SID) || len(d.DBIDs) > maxIDs
	})
}

func isSID(name string) bool { return regexp.MustCompile(`^[A-Za-z0-9_$#]{1,30}$`).MatchString(name) }

// find returns the database with this SID; nil if the marker does not name it.
func (m *marker) find(sid string) *ownDatabase {
	if i := slices.IndexFunc(m.Databases, func(d ownDatabase) bool { return d.SID == sid }); i >= 0 {
		return &m.Databases[i]
	}
	return nil
}

func (m *marker) hasID(id uint32) bool {
	return slices.ContainsFunc(m.Databases, func(d ownDatabase) bool { return slices.Contains(d.DBIDs, id) })
}

// changeMarker changes the entry of this container's database in the marker, and adds a missing entry.
func (o Options) changeMarker(change func(*ownDatabase)) error {
	if !isSID(o.imageSID()) {
		return oracle.Failf(runfile.FailureInvalidPlan, "the SID %q cannot be one: it has letters and digits", o.imageSID())
	}
	m, err := o.readMarker()
	if err != nil {
		return err
	}
	if m.find(o.imageSID()) == nil {
		m.Databases = append(m.Databases, ownDatabase{SID: o.imageSID()})
	}
	if len(m.Databases) > maxDatabases {
		return fmt.Errorf("the volume at %s has had %d databases: use an empty volume", o.DataDirectory, maxDatabases)
	}
	d := m.find(o.imageSID())
	change(d)
	d.DBIDs = lastOfEach(d.DBIDs)
	d.DBIDs = d.DBIDs[max(0, len(d.DBIDs)-maxIDs):]
	m.About = "These databases on this volume were created for benchmarks of nfsbench, which may change them, and " +
		"delete one whose creation has not ended."
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = shareddir.ReplaceSynced(o.DataDirectory, MarkerFile, append(text, '\n'), shareddir.ForAll)
	}
	if err != nil {
		return fmt.Errorf("mark the database on the volume as ours: %w", err)
	}
	return nil
}

// lastOfEach keeps only the last occurrence of each ID.
func lastOfEach(ids []uint32) (out []uint32) {
	for i, id := range ids {
		if !slices.Contains(ids[i+1:], id) {
			out = append(out, id)
		}
	}
	return out
}

// isOfStorage reports whether an entry of a volume belongs to the file system or to the storage, such as the
// snapshots in an export.
func isOfStorage(name string) bool {
	return slices.Contains([]string{".snapshot", ".snapshots", ".zfs", "lost+found"}, name)
}

// foreign returns the name of a file in the data directory that was not created for a benchmark; empty = there is
// none. Runs, restarts and the doctor all use this function.
//
// Without a marker every file is foreign. With a marker these files are foreign: a datafile or control file with a
// DBID that the marker does not name, or without a DBID and outside of the folders of the marker's databases; files
// that an image keeps for a database that the marker does not name; and files in the folder of the database that a
// start would create, which has the SID sid. It handles directories of any size.
func (o Options) foreign() (string, error) {
	m, err := o.readMarker()
	if err != nil {
		return "", err
	}
	return m.foreign(o.DataDirectory, o.imageSID())
}

func (m *marker) foreign(dataDirectory, sid string) (found string, err error) {
	if m.distrusted != "" {
		return MarkerFile + ", " + m.distrusted, nil
	}
	err = walk(dataDirectory, func(_ *os.File, name string, d fs.DirEntry) (err error) {
		switch {
		case isOwnFile(name) && (name != MarkerFile || len(m.Databases) > 0):
		case len(m.Databases) == 0:
			found = name
		default:
			found, err = m.foreignEntry(dataDirectory, name, sid, d)
		}
		if found != "" {
			return fs.SkipAll
		}
		return err
	})
	if errors.Is(err, errTooMany) {
		return errTooMany.Error(), nil
	}
	return found, err
}

// isOwnFile reports whether runs create an entry of a volume besides databases.
func isOwnFile(name string) bool {
	return strings.HasPrefix(name, tryWritePrefix) ||
		slices.Contains([]string{MarkerFile, MarkerFile + shareddir.PartExtension, HeartbeatFile}, name)
}

// foreignEntry does the same as foreign for one entry of a volume whose marker names databases.
func (m *marker) foreignEntry(dataDirectory, name, sid string, d fs.DirEntry) (string, error) {
	parts := strings.Split(name, "/")
	top := parts[0]
	switch len(parts) {
	case 1:
		of, isCreated := strings.CutSuffix(strings.TrimPrefix(name, "."), createdExtension)
		if isCreated && m.find(of) == nil || !d.IsDir() && (m.find(name) != nil || name == configFolder) {
			return name, nil
		}
	case 2:
		if top == configFolder && d.IsDir() && m.find(parts[1]) == nil {
			return name, nil
		}
	}
	switch {
	case len(parts) > 1 && top == sid && m.find(sid) == nil: // an image deletes this folder
		return name, nil
	case isDatabaseFile(d):
		return m.foreignFile(dataDirectory, name)
	}
	// A repeated creation deletes every file in its folder, so files with any name are checked.
	if own := m.find(top); own != nil && !own.Created && d.Type().IsRegular() {
		return m.foreignFile(dataDirectory, name)
	}
	return "", nil
}

// foreignFile does the same as foreign for a datafile or control file.
func (m *marker) foreignFile(dataDirectory, name string) (string, error) {
	id, err := databaseID(dataDirectory, name)
	isIn := func(folder string) bool { return m.find(folder) != nil }
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted in the meantime
		return "", nil
	case err != nil:
		return fmt.Sprintf("%s, which cannot be read: %v", name, err), nil
	case id != 0 && !m.hasID(id):
		return fmt.Sprintf("%s of a database with the DBID %d, which %s does not name", name, id, MarkerFile), nil
	case id == 0 && !slices.ContainsFunc(strings.Split(filepath.Dir(name), "/"), isIn):
		return name, nil
	}
	return "", nil
}

func isDatabaseFile(d fs.DirEntry) bool {
	ext := strings.ToLower(filepath.Ext(d.Name()))
	return !d.IsDir() && (ext == ".dbf" || ext == ".ctl")
}

// databaseID reads the DBID from the header of a datafile or control file. It returns 0 if the header is not written
// yet, or if the file is neither. The header is the second block. It begins with the block type, and has the block
// number at offset 4 and the DBID at offset 28, in the byte order of the machine that created it.
func databaseID(dataDirectory, name string) (uint32, error) {
	f, err := shareddir.Open(dataDirectory, name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	const datafile, controlFile = 0x0b, 0x15
	for size := int64(2 << 10); size <= 32<<10; size *= 2 { // block sizes
		b := make([]byte, 32)
		if _, err := f.ReadAt(b, size); errors.Is(err, io.EOF) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			isFirst := order.Uint32(b[4:])&(1<<22-1) == 1 // the first block of a file; the upper bits hold the file number
			if (b[0] == datafile || b[0] == controlFile) && isFirst {
				return order.Uint32(b[28:]), nil
			}
		}
	}
	return 0, nil
}

// databaseIDs returns the DBIDs in the files of the database on the volume.
func (o Options) databaseIDs() (ids []uint32, err error) {
	folder := o.folder()
	err = walk(folder, func(_ *os.File, name string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		id, err := databaseID(o.DataDirectory, filepath.Join(o.imageSID(), name))
		if err == nil && id != 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return nil // the file may have been deleted in the meantime
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return ids, err
}

// maxDepth is far below the limit of open files.
const maxDepth = 32

var errTooMany = fmt.Errorf("more than %d entries, which are not all looked at", maxLooked)

// walk calls visit for the entries below a folder, with the open folder of the entry and its name relative to the
// root, until visit returns an error; fs.SkipAll ends the walk without one. It follows no links, skips entries of the
// storage, holds few names at a time, and returns errTooMany after maxLooked entries.
func walk(root string, visit visitor) error {
	folder, err := shareddir.OpenFolder(root, ".")
	if err != nil {
		return err
	}
	w := walker{visit: visit}
	if err := w.enter(folder, "", 0); !errors.Is(err, fs.SkipAll) {
		return err
	}
	return nil
}

type visitor func(folder *os.File, name string, d fs.DirEntry) error

type walker struct {
	visit  visitor
	looked int
}

// enter walks through an open folder and closes it.
func (w *walker) enter(folder *os.File, name string, depth int) error {
	defer func() { _ = folder.Close() }()
	for {
		entries, err := folder.ReadDir(16)
		for _, d := range entries {
			if err := w.look(folder, filepath.Join(name, d.Name()), d, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *walker) look(folder *os.File, name string, d fs.DirEntry, depth int) error {
	if w.looked++; w.looked > maxLooked || depth > maxDepth {
		return errTooMany
	}
	if isOfStorage(d.Name()) {
		return nil
	}
	if err := w.visit(folder, name, d); err != nil || !d.IsDir() {
		return err
	}
	below, err := shareddir.OpenFolderAt(folder, d.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted in the meantime
	}
	if err != nil {
		return err
	}
	return w.enter(below, name, depth+1)
}

// keepClaim records in the marker which database the image creates, and when the creation is complete. An interrupted
// creation is repeated until then.
func (s *supervisor) keepClaim() {
	if !s.unfinished {
		return
	}
	ids, err := s.o.databaseIDs()
	created := isOf(s.o.createdFile(), 0)
	isNew := slices.ContainsFunc(ids, func(id uint32) bool { return !slices.Contains(s.seen, id) })
	if err == nil && (created || isNew) {
		err = s.o.changeMarker(func(d *ownDatabase) {
			if d.Created = created; created {
				d.DBIDs = nil // IDs from before the end of the creation belong to no database
			}
			d.DBIDs = append(d.DBIDs, ids...)
		})
	}
	if err != nil {
		s.log.Warn("The volume does not say which database a run creates on it", "error", err)
		return
	}
	s.seen, s.unfinished = ids, !created
}

// keepCreated calls keepClaim once the creation has ended. Until then it checks a single file, because the load may
// run.
func (s *supervisor) keepCreated() {
	if s.unfinished && isOf(s.o.createdFile(), 0) {
		s.keepClaim()
	}
}
