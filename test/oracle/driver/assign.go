package driver

import (
	"database/sql"
	"fmt"
	"reflect"
	"strconv"

	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// assign stores an OUT bind in what a sql.Out points to.
func assign(dest, value any) error {
	if scanner, ok := dest.(sql.Scanner); ok {
		if _, null := value.(wire.Null); null {
			value = nil
		}
		return scanner.Scan(value)
	}
	to := reflect.ValueOf(dest)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("OUT bind of type %T: want a pointer", dest)
	}
	to = to.Elem()
	if _, null := value.(wire.Null); value == nil || null {
		to.SetZero()
		return nil
	}
	return set(to, value)
}

func set(to reflect.Value, value any) error {
	from := reflect.ValueOf(value)
	switch {
	case from.Type().AssignableTo(to.Type()):
		to.Set(from)
	case to.Kind() == reflect.String:
		to.SetString(fmt.Sprint(value))
	case from.Kind() == reflect.String && to.CanInt():
		n, err := strconv.ParseInt(from.String(), 10, 64)
		if err != nil {
			return fmt.Errorf("OUT bind: %w", err)
		}
		to.SetInt(n)
	case from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	default:
		return fmt.Errorf("OUT bind: %T does not fit %s", value, to.Type())
	}
	return nil
}

func dereference(dest any) any {
	v := reflect.ValueOf(dest)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	return v.Elem().Interface()
}
