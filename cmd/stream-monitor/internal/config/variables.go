package config

import (
	"reflect"
	"slices"
	"strings"
)

// Variables returns the names of all environment variables that are settings, in
// alphabetical order.
func Variables() []string {
	var names []string
	collectVariables(reflect.TypeFor[CLI](), &names, func(reflect.StructTag) bool { return true })
	slices.Sort(names)
	return slices.Compact(names)
}

// collectVariables walks the commands and their embedded groups of flags, and collects the wanted ones.
func collectVariables(t reflect.Type, names *[]string, wanted func(reflect.StructTag) bool) {
	for f := range t.Fields() {
		if env := f.Tag.Get("env"); env != "" {
			if wanted(f.Tag) {
				*names = append(*names, strings.Split(env, ",")...)
			}
			continue
		}
		_, embedded := f.Tag.Lookup("embed")
		_, command := f.Tag.Lookup("cmd")
		if f.Type.Kind() == reflect.Struct && (embedded || command) {
			collectVariables(f.Type, names, wanted)
		}
	}
}

// Misspelling is an environment variable whose name resembles that of a setting.
type Misspelling struct{ Set, Setting string }

// Misspellings finds variables in environ (NAME=VALUE, as os.Environ) that differ from
// a setting by one letter: added, missing, replaced or swapped with its neighbour. Names
// of fewer than 4 letters resemble too many others, as CI resembles UI.
func Misspellings(environ []string) (found []Misspelling) {
	settings := Variables()
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if len(name) < 4 || slices.Contains(settings, name) {
			continue
		}
		i := slices.IndexFunc(settings, func(setting string) bool { return differByOneLetter(name, setting) })
		if i >= 0 {
			found = append(found, Misspelling{name, settings[i]})
		}
	}
	return found
}

func differByOneLetter(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i < len(a) && (a[i+1:] == b[i+1:] || swapped)
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}
