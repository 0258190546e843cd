package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ruleFlags makes one flag of the command watch for each setting of monitor.Settings, and one that
// switches optional detectors on. So the settings of a new detector get flags without a change
// here. It returns a pointer to a struct with one field for each setting, in that order, and then
// Detectors.
func ruleFlags() kong.Plugins {
	var fields []reflect.StructField
	for _, s := range monitor.Settings() {
		kind, t := "decimal", reflect.TypeFor[float64]()
		if s.Whole {
			kind, t = "integer", reflect.TypeFor[int]()
		}
		tag := fmt.Sprintf(`group:"Rules" type:"%s" name:%q min:"%s" max:"%s" default:"%s" help:%q`,
			kind, strings.ReplaceAll(s.Field, "_", "-"), detector.Format(s.Min), detector.Format(s.Max), detector.Format(s.Default), s.Help)
		// The prefix makes the field exported; kong takes the flag's name from the tag.
		fields = append(fields, reflect.StructField{Name: "X" + s.Field, Type: t, Tag: reflect.StructTag(tag)})
	}
	fields = append(fields, reflect.StructField{Name: "Detectors", Type: reflect.TypeFor[optionalDetectors](), Tag: reflect.StructTag(fmt.Sprintf(
		`group:"Rules" type:"detectors" placeholder:"NAME[:FIELD=VALUE]…,…" help:%q`, "Optional detectors to switch on, such as "+exampleDetectors()+"."))})
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// Config returns the flags as the configuration of a registration.
func (c Watch) Config() monitor.Config {
	config := monitor.DefaultConfig()
	values := reflect.ValueOf(c.RuleFlags[0]).Elem()
	for i, s := range monitor.Settings() {
		value := values.Field(i)
		if s.Whole {
			config.Set(s.Field, float64(value.Int()))
		} else {
			config.Set(s.Field, value.Float())
		}
	}
	if detectors, set := reflect.TypeAssert[optionalDetectors](values.FieldByName("Detectors")); set {
		for field, value := range detectors {
			config.Set(field, value)
		}
	}
	if !c.ScheduledStartTime.IsZero() {
		config.ScheduledStartTime = &c.ScheduledStartTime
	}
	return config
}

// optionalDetectors has the settings of the optional detectors that run, by field; of each at least its
// threshold.
type optionalDetectors map[string]float64

// parseDetectors reads NAME[:FIELD=VALUE]... of each detector, separated by commas. A field that is left
// out has its default.
func parseDetectors(text string, _ *kong.Tag) (any, error) {
	settings := optionalDetectors{}
	for one := range strings.SplitSeq(text, ",") {
		parts := strings.Split(one, ":")
		i := slices.IndexFunc(detector.Optional(), func(d detector.Detector) bool { return string(d.Name) == parts[0] })
		if i < 0 {
			return nil, fmt.Errorf("there is no detector %.40q; accepted is a list such as %s", parts[0], exampleDetectors())
		}
		d := detector.Optional()[i]
		settings[d.Threshold.Field] = d.Threshold.Default
		for _, given := range parts[1:] {
			field, number, _ := strings.Cut(given, "=")
			v, err := strconv.ParseFloat(number, 64)
			at := slices.IndexFunc(d.AllSettings(), func(s monitor.Setting) bool { return s.Key() == field && s.Accepts(v) })
			if err != nil || at < 0 {
				return nil, fmt.Errorf("%s has %.60q; accepted are %s", d.Name, given, acceptedSettings(d))
			}
			settings[d.AllSettings()[at].Field] = v
		}
	}
	return settings, nil
}

// exampleDetectors names every optional detector as the flag accepts them.
func exampleDetectors() string {
	var names []string
	for i, d := range detector.Optional() {
		name := string(d.Name)
		if i == 0 {
			name += ":" + d.Threshold.Key() + "=" + detector.Format(d.Threshold.Default)
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// acceptedSettings describes the settings of a detector.
func acceptedSettings(d detector.Detector) string {
	var all []string
	for _, s := range d.AllSettings() {
		all = append(all, s.Key()+"="+s.Range())
	}
	return strings.Join(all, ", ")
}
