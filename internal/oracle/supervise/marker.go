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

// MarkerFile on a volume names the databases there that were created for benchmarks. It says nothing
// of files that somebody brings to the volume later.
const MarkerFile = ".nfsbench-database"

const (
	maxMarker = 64 << 10
	// A marker names no more databases, and no more DBIDs of one, than these: a creation passes through
	// a few, and each container of a database may have one.
	maxDatabases, maxIDs = 64, 16
	// maxLooked is how many entries of a volume are looked at for files of a database.
	maxLooked = 10000
)

// marker is the content of MarkerFile.
type marker struct {
	About     string        `json:"about"`
	Databases []ownDatabase `json:"databases"`

	distrusted string // why it is no proof
}

// ownDatabase is one whose creation a run has begun, before it started the image.
type ownDatabase struct {
	SID string `json:"sid"`
	// Created says that the image has kept on the volume that the creation has ended well, so that it
	// opens this database and does not make it again.
	Created bool `json:"created"`
	// DBIDs were in the headers of its files during the creation, or after it.
	DBIDs []uint32 `json:"dbids,omitempty"`
}

// readMarker reads the marker of a volume. One that is distrusted, or not as a run writes it, names no database.
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

// distrusting says why a marker is no proof, whatever it says; empty = it is one.
type distrusting func(*os.File) (why string, err error)

// distrustOthers takes the word of some users only. Whoever may link files gives a file of theirs the name of the
// marker, so it must have no other name.
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

// readMarker reads the marker that a run has left: it is this user's, or root's, or belongs to whom the storage makes
// the owner of this user's files.
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

// isOurs says whether a run can have written this.
func (m *marker) isOurs() bool {
	return len(m.Databases) <= maxDatabases && !slices.ContainsFunc(m.Databases, func(d ownDatabase) bool {
		return !isSID(d.SID) || len(d.DBIDs) > maxIDs
	})
}

func isSID(name string) bool { return regexp.MustCompile(`^[A-Za-z0-9_$#]{1,30}$`).MatchString(name) }

// find returns the database of this SID; nil where the marker does not name it.
func (m *marker) find(sid string) *ownDatabase {
	if i := slices.IndexFunc(m.Databases, func(d ownDatabase) bool { return d.SID == sid }); i >= 0 {
		return &m.Databases[i]
	}
	return nil
}

func (m *marker) hasID(id uint32) bool {
	return slices.ContainsFunc(m.Databases, func(d ownDatabase) bool { return slices.Contains(d.DBIDs, id) })
}

// changeMarker changes what the marker says of the database of this container, and adds it.
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

// lastOfEach leaves out what comes again later.
func lastOfEach(ids []uint32) (out []uint32) {
	for i, id := range ids {
		if !slices.Contains(ids[i+1:], id) {
			out = append(out, id)
		}
	}
	return out
}

// isOfStorage reports whether an entry of a volume belongs to the file system or to the storage,
// which shows snapshots in an export.
func isOfStorage(name string) bool {
	return slices.Contains([]string{".snapshot", ".snapshots", ".zfs", "lost+found"}, name)
}

// foreign names a file of a data directory that was not created for a benchmark; it is empty where
// there is none. It is the one judgement of that, for a run, a restart and the doctor.
//
// Without a marker every file is foreign. With a marker these are: a datafile or control file with a
// DBID that the marker does not name, or with none and outside of the folders of its databases; what
// an image keeps of a database that the marker does not name; and what is in the place of the database
// that a start would create, which is that of sid. Directories of any size are safe.
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

// isOwnFile says whether an entry of a volume is one of those that runs make besides databases.
func isOwnFile(name string) bool {
	return strings.HasPrefix(name, tryWritePrefix) ||
		slices.Contains([]string{MarkerFile, MarkerFile + shareddir.PartExtension, HeartbeatFile}, name)
}

// foreignEntry is foreign for one entry of a volume whose marker names databases.
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
	// What a creation that begins again deletes is looked at whatever its name is.
	if own := m.find(top); own != nil && !own.Created && d.Type().IsRegular() {
		return m.foreignFile(dataDirectory, name)
	}
	return "", nil
}

// foreignFile is foreign for a datafile or control file.
func (m *marker) foreignFile(dataDirectory, name string) (string, error) {
	id, err := databaseID(dataDirectory, name)
	isIn := func(folder string) bool { return m.find(folder) != nil }
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was deleted meanwhile
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

// databaseID reads the DBID from the header of a datafile or control file; 0 where none is there
// yet, or the file is neither. The header is the second block. It begins with the type of the block
// and has the number of the block at 4 and the DBID at 28, in the byte order of the machine that made it.
func databaseID(dataDirectory, name string) (uint32, error) {
	f, err := shareddir.Open(dataDirectory, name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	const datafile, controlFile = 0x0b, 0x15
	for size := int64(2 << 10); size <= 32<<10; size *= 2 { // of a block
		b := make([]byte, 32)
		if _, err := f.ReadAt(b, size); errors.Is(err, io.EOF) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			isFirst := order.Uint32(b[4:])&(1<<22-1) == 1 // of a file, whose number is above
			if (b[0] == datafile || b[0] == controlFile) && isFirst {
				return order.Uint32(b[28:]), nil
			}
		}
	}
	return 0, nil
}

// databaseIDs are those of the files of the database on the volume.
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
		return nil // it may be deleted meanwhile
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return ids, err
}

// maxDepth is far below what a process may have open.
const maxDepth = 32

var errTooMany = fmt.Errorf("more than %d entries, which are not all looked at", maxLooked)

// walk calls visit for the entries below a folder, with the open folder that has them and their names from the root,
// until visit returns an error; fs.SkipAll ends the walk without one. It follows no link, leaves out what belongs to
// the storage, holds few names at a time, and returns errTooMany after maxLooked entries.
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

// enter closes the folder.
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
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	return w.enter(below, name, depth+1)
}

// keepClaim writes into the marker which database the image creates, and that it has created it.
// Until then the image makes it again when it is interrupted.
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
				d.DBIDs = nil // those before the end of the creation are of no database
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

// keepCreated does so once the creation has ended. Until then it looks at one file only, because the
// load may run.
func (s *supervisor) keepCreated() {
	if s.unfinished && isOf(s.o.createdFile(), 0) {
		s.keepClaim()
	}
}
