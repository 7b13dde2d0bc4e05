package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// protoV4 is NFSv4.0 or NFSv4.1 over the connections of a server.
type protoV4 struct {
	cfg       *Config
	channels  []*channel
	at        []*placeV4 // the first one is used for names
	byChannel map[*channel]int
	layouts   *layoutsV4 // nil without pNFS
	paths     sync.Map   // FileHandle of a directory to its path, if opens need it
	warned    sync.Map   // each *dataServer with a warning
	began     time.Time  // start of mounting
	local     []net.Addr // addresses of the connections while mounting, for messages
}

func (p *protoV4) server() *serverV4 { return p.at[0].server }

// rootAttrs returns the attributes that mounting requests.
func rootAttrs(minor uint32) v4.Bitmap {
	mask := v4.Bits(v4.AttrType, v4.AttrLeaseTime, v4.AttrMaxRead, v4.AttrMaxWrite)
	if minor > 0 {
		mask.Set(v4.AttrFSLayoutTypes)
	}
	return mask
}

// mount walks to the export through the pseudo file system of each server, because NFSv4 has no MOUNT.
func (p *protoV4) mount(ctx context.Context) error {
	for _, at := range p.at {
		if err := at.mount(ctx, p.names()); err != nil {
			return p.explained(ctx, at.server, fmt.Errorf("path %s: %w", at.server.describe(), err))
		}
	}
	p.paths.Store(p.at[0].root, []string(nil))
	if p.cfg.Version == bench.PNFS {
		p.layouts = newLayouts(p.cfg, p.server(), p.at[0].attrs.FSLayoutTypes)
		p.warnLayouts()
	}
	return nil
}

// names returns the components of the export's path.
func (p *protoV4) names() []string {
	return slices.DeleteFunc(strings.Split(p.cfg.Export, "/"), func(name string) bool { return name == "" })
}

func (p *protoV4) dataServers() []*dataServer {
	if p.layouts == nil {
		return nil
	}
	return p.layouts.list()
}

func (p *placeV4) mount(ctx context.Context, names []string) error {
	var fh v4.GetFH
	attrs := v4.GetAttr{Request: rootAttrs(p.server.minor)}
	if err := p.server.do(ctx, append(lookupAll(names), &fh, &attrs)...); err != nil {
		return err
	}
	if attrs.Attrs.Type != v4.TypeDirectory {
		return errNoDirectory
	}
	p.root, p.attrs = FileHandle(fh.Handle), attrs.Attrs
	p.server.setLease(time.Duration(attrs.Attrs.LeaseSeconds) * time.Second)
	return nil
}

func (p *protoV4) data() stream.Protocol {
	return &dataV4{threads: []threadV4{{server: p.server(), table: p.server().control}}}
}

func (p *protoV4) close(ctx context.Context) error {
	var errs []error
	if p.layouts != nil {
		errs = append(errs, p.layouts.close(ctx))
	}
	for _, at := range slices.Backward(p.at) { // closing the first destroys the client ID
		errs = append(errs, at.server.close(ctx))
	}
	return errors.Join(errs...)
}

// unsaidBytes is a transfer size that every NFSv4.0 server accepts.
const unsaidBytes = 32 << 10

// info returns the limits of the file system. A server need not report maxread and maxwrite (RFC 8881 5.6); the
// session then limits the transfer sizes.
func (p *protoV4) info(context.Context, FileHandle) (FSInfo, error) {
	s := p.server()
	unsaid := uint64(unsaidBytes)
	if s.minor > 0 {
		unsaid = v4.MaxDataBytes
	}
	said := p.at[0].attrs
	read, write := min(cmp.Or(said.MaxRead, unsaid), v4.MaxDataBytes), min(cmp.Or(said.MaxWrite, unsaid), v4.MaxDataBytes)
	if s.minor > 0 {
		read = min(read, uint64(s.maxResponse-min(s.maxResponse, headerBytes)))
		write = min(write, uint64(s.maxRequest-min(s.maxRequest, headerBytes)))
	}
	return FSInfo{
		ReadMaxBytes: offered(cmp.Or(said.MaxRead, read)), WriteMaxBytes: offered(cmp.Or(said.MaxWrite, write)),
		TransferReadBytes: uint32(read), TransferWriteBytes: uint32(write),
	}, nil
}

// offered returns a server's limit. A server without a limit reports a number that is no size.
func offered(limit uint64) uint32 {
	const most = 1 << 31
	return uint32(min(limit, most))
}

func (p *protoV4) statFS(ctx context.Context, root FileHandle) (FSStat, error) {
	a, err := p.attributes(ctx, root, v4.AttrSpaceTotal, v4.AttrSpaceAvail)
	return FSStat{TotalBytes: a.SpaceTotal, AvailableBytes: a.SpaceAvail}, err
}

func (p *protoV4) getAttr(ctx context.Context, file FileHandle) (Attr, error) {
	a, err := p.attributes(ctx, file, v4.AttrType, v4.AttrSize, v4.AttrNumLinks)
	return attrV4(&a), err
}

func attrV4(a *v4.Attrs) Attr {
	out := Attr{SizeBytes: a.Size, Links: a.NumLinks}
	switch a.Type {
	case v4.TypeRegular:
		out.Type = TypeRegular
	case v4.TypeDirectory:
		out.Type = TypeDirectory
	default:
	}
	return out
}

func (p *protoV4) attributes(ctx context.Context, file FileHandle, bits ...uint32) (v4.Attrs, error) {
	get := v4.GetAttr{Request: v4.Bits(bits...)}
	err := p.server().do(ctx, &v4.PutFH{Handle: []byte(file)}, &get)
	return get.Attrs, err
}

// setSize uses the anonymous state ID, like a client that has not opened the file.
func (p *protoV4) setSize(ctx context.Context, file FileHandle, sizeBytes uint64) error {
	attrs := v4.Attrs{Mask: v4.Bits(v4.AttrSize), Size: sizeBytes}
	return p.server().do(ctx, &v4.PutFH{Handle: []byte(file)}, &v4.SetAttr{Attrs: attrs})
}

func (p *protoV4) commit(ctx context.Context, f *File, server int) (stream.Verifier, error) {
	var commit v4.Commit
	o := f.state.(*fileV4).opens[server] //nolint:errcheck,forcetypeassert // open has put it there
	err := o.server.do(ctx, &v4.PutFH{Handle: o.handle}, &commit)
	return stream.Verifier{Server: server, Value: commit.Verifier}, err
}

func (p *protoV4) open(ctx context.Context, f *File, dir FileHandle, name string, how *creation) error {
	began := p.cfg.Now()
	o, err := p.server().openFile(ctx, dir, name, how)
	if err != nil {
		return p.failed(ctx, dir, began, err)
	}
	state := &fileV4{opens: []*openV4{o}}
	f.handle, f.state = FileHandle(o.handle), state
	for _, at := range p.at[1:] {
		if at.opens == 0 {
			continue
		}
		o, err := p.openAt(ctx, at, dir, name)
		if err != nil {
			return errors.Join(fmt.Errorf("path %s: %w", at.server.describe(), err), p.release(ctx, f))
		}
		state.opens = append(state.opens, o)
	}
	if p.layouts != nil {
		state.layout = p.layouts.attach(ctx, o)
	}
	return nil
}

// openAt opens the file at a server that does not share the opens of the first server, and may use another handle.
func (p *protoV4) openAt(ctx context.Context, at *placeV4, dir FileHandle, name string) (*openV4, error) {
	path, ok := p.paths.Load(dir)
	if !ok {
		return nil, fmt.Errorf("the directory of %q was not looked up by this client", name)
	}
	fh := at.root
	for _, part := range path.([]string) { //nolint:errcheck,forcetypeassert // paths holds nothing else
		var err error
		if fh, err = at.server.lookup(ctx, fh, part); err != nil {
			return nil, err
		}
	}
	return at.server.openFile(ctx, fh, name, nil)
}

// keep records the path of a directory.
func (p *protoV4) keep(dir, child FileHandle, name string) {
	if path, ok := p.paths.Load(dir); ok && len(p.at) > 1 {
		all := path.([]string) //nolint:errcheck,forcetypeassert // paths holds nothing else
		p.paths.Store(child, append(slices.Clone(all), name))
	}
}

func (p *protoV4) release(ctx context.Context, f *File) error {
	var errs []error
	state := f.state.(*fileV4) //nolint:errcheck,forcetypeassert // open has put it there
	if state.layout != nil {
		errs = append(errs, p.layouts.detach(ctx, state.layout, state.opens[0]))
	}
	for _, o := range state.opens {
		errs = append(errs, o.close(ctx))
	}
	return errors.Join(errs...)
}

func (p *protoV4) lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error) {
	fh, err := p.server().lookup(ctx, dir, name)
	if err == nil {
		p.keep(dir, fh, name)
	}
	return fh, err
}

func (s *serverV4) lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error) {
	var fh v4.GetFH
	err := s.do(ctx, &v4.PutFH{Handle: []byte(dir)}, &v4.Lookup{Name: name}, &fh)
	return FileHandle(fh.Handle), err
}

func (p *protoV4) mkdir(ctx context.Context, dir FileHandle, name string, mode uint32) (FileHandle, error) {
	var fh v4.GetFH
	create := v4.Create{Name: name, Attrs: v4.Attrs{Mask: v4.Bits(v4.AttrMode), Mode: mode}}
	began := p.cfg.Now()
	attempts, err := p.server().call(ctx, &callV4{ops: []v4.Operation{&v4.PutFH{Handle: []byte(dir)}, &create, &fh}})
	if attempts > 1 && errors.Is(err, v4.ErrExist) {
		// The server may have executed an attempt whose reply was lost.
		return p.lookup(ctx, dir, name)
	}
	if err != nil {
		return "", p.failed(ctx, dir, began, err)
	}
	p.keep(dir, FileHandle(fh.Handle), name)
	return FileHandle(fh.Handle), nil
}

// remove removes a name. NFSv4 has one operation for files and directories, so remove first checks the kind: the name
// may refer to something else by now.
func (p *protoV4) remove(ctx context.Context, dir FileHandle, name string, kind FileType) error {
	fh, err := p.lookup(ctx, dir, name)
	if err != nil {
		return err
	}
	attr, err := p.getAttr(ctx, fh)
	if err != nil && !IsStale(err) {
		return err
	}
	switch {
	case kind == TypeDirectory && attr.Type != TypeDirectory:
		return v4.ErrNotDir
	case kind != TypeDirectory && attr.Type == TypeDirectory:
		return v4.ErrIsDir
	}
	attempts, err := p.server().call(ctx, &callV4{
		ops: []v4.Operation{&v4.PutFH{Handle: []byte(dir)}, &v4.Remove{Name: name}},
	})
	if attempts > 1 && IsNotExist(err) {
		return nil
	}
	return err
}

func (p *protoV4) rename(ctx context.Context, dir FileHandle, from, to string) error {
	attempts, err := p.server().call(ctx, &callV4{ops: []v4.Operation{
		&v4.PutFH{Handle: []byte(dir)}, &v4.SaveFH{}, &v4.Rename{From: from, To: to},
	}})
	if attempts > 1 && IsNotExist(err) {
		return nil // the server has executed an attempt whose reply was lost
	}
	return err
}

func (p *protoV4) readDir(ctx context.Context, dir FileHandle) (names []string, err error) {
	read := v4.ReadDir{DirCount: readDirBytes / 4, MaxCount: readDirBytes, Request: v4.Bits(v4.AttrReadDirError)}
	for left := maxDirBytes; ; {
		if err := p.server().do(ctx, &v4.PutFH{Handle: []byte(dir)}, &read); err != nil {
			return nil, err
		}
		for _, e := range read.Entries {
			names = append(names, e.Name)
			left -= len(e.Name) + 16 // and the string
		}
		if read.EOF {
			return slices.DeleteFunc(names, func(n string) bool { return n == "." || n == ".." }), nil
		}
		if left < 0 {
			return nil, fmt.Errorf("the directory does not end after %d names; name another path", len(names))
		}
		if len(read.Entries) == 0 {
			return nil, violation("READDIR makes no progress after %d entries", len(names))
		}
		read = v4.ReadDir{
			Cookie: read.Entries[len(read.Entries)-1].Cookie, CookieVerifier: read.Verifier,
			DirCount: read.DirCount, MaxCount: read.MaxCount, Request: read.Request,
		}
	}
}
