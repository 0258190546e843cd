package applier

import (
	"reflect"
	"strings"
)

// fieldsOf returns pointers to the fields of *v, a struct, by their names in JSON.
func fieldsOf(v any) map[string]any {
	fields := map[string]any{}
	for f, value := range reflect.ValueOf(v).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = value.Addr().Interface()
	}
	return fields
}
