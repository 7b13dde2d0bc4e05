package gen

import "reflect"

// Hostile appends a text to all strings that v points to, except the keys of maps.
func Hostile(v any, text string) { hostile(reflect.ValueOf(v), text) }

func hostile(v reflect.Value, text string) {
	switch v.Kind() { //nolint:exhaustive // the others have no strings
	case reflect.Pointer:
		if !v.IsNil() {
			hostile(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hostile(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			hostile(v.Index(i), text)
		}
	case reflect.String:
		v.SetString(v.String() + text)
	}
}
