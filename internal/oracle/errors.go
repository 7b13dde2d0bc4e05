package oracle

// Fail makes an error with a code of runfile and a sentence for people. err is
// what it came from, or nil.
func Fail(code, message string, err error) error {
	return &failure{code: code, message: message, err: err}
}

// failure is an error that a user can do something about.
type failure struct {
	code, message string
	err           error
}

// Error returns the sentence.
func (f *failure) Error() string { return f.message }

// Unwrap returns what it came from.
func (f *failure) Unwrap() error { return f.err }
