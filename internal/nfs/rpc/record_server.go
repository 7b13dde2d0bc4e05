package rpc

// FragmentBytes returns how many bytes of the current fragment were not read yet. A server
// asks it after Next to choose the buffer for the record.
func (r *RecordReader) FragmentBytes() int { return r.left }
