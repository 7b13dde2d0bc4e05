package gen

import "reflect"

// Texts replaces all strings that v points to, except the keys of maps.
func Texts(v any, change func(string) string) { texts(reflect.ValueOf(v), change) }

func texts(v reflect.Value, change func(string) string) {
	switch v.Kind() { //nolint:exhaustive // the others have no strings
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), change)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				texts(v.Field(i), change)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), change)
		}
	case reflect.String:
		v.SetString(change(v.String()))
	}
}
