package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ruleFlags makes one flag of the command watch for each setting of a registration. So the
// settings of a new detector get flags without a change here. It returns a pointer to a
// struct with one field for each setting, in the order of monitor.Settings.
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
	if !c.ScheduledStartTime.IsZero() {
		config.ScheduledStartTime = &c.ScheduledStartTime
	}
	return config
}
