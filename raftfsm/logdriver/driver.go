// Package logdriver has the log drivers of ECS that hosts run, their options, and what a container's configuration makes of them.
package logdriver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pinion/raftfsm/valuefrom"
)

// Names of the log drivers that hosts run.
const (
	Awslogs  = "awslogs"
	JSONFile = "json-file"
	// Firelens gives the lines to the log router of the task, whose output its options are; see raftfsm/firelens.
	Firelens = "awsfirelens"
)

// Driver is one of ECS's log drivers.
type Driver struct {
	Name    string
	Options []Option // all that it has
}

// Option is an option of a log driver.
type Option struct {
	Name  string
	Want  string            // what its value must be, for people
	Valid func(string) bool // nil: any value
}

const (
	optionMaxSize      = "max-size"
	optionMaxFile      = "max-file"
	optionGroup        = "awslogs-group"
	optionStreamPrefix = "awslogs-stream-prefix"
	optionRegion       = "awslogs-region"       // one pool serves all of them
	optionCreateGroup  = "awslogs-create-group" // a group is there as soon as a definition names it
	optionMode         = "mode"
	optionBufferSize   = "max-buffer-size"
)

// rotation are the options by which the logger bounds the files of a container, whatever its driver.
var rotation = []Option{
	{optionMaxSize, fmt.Sprintf("a size such as 500k, 10m or 1g, at most %dg", MaxBytes>>30), func(text string) bool { _, err := parseLogSize(text); return err == nil }},
	{optionMaxFile, fmt.Sprintf("a number of files from 1 to %d", MaxFiles), isLogFiles},
}

func isLogFiles(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= MaxFiles
}

const wantLogName = "a name of at most 512 characters, none of which is a control character"

func isLogName(text string) bool {
	return utf8.RuneCountInString(text) <= 512 && !strings.ContainsFunc(text, unicode.IsControl)
}

// delivery are the options that say what becomes of a container whose log cannot be written. Here it never waits: its lines go to the
// disk at once, and those that do not fit are dropped and counted. So no buffer is larger than it may be.
var delivery = []Option{
	{optionMode, "non-blocking: a container never waits for its log here", func(text string) bool { return text == "non-blocking" }},
	{optionBufferSize, "a size such as 25m", func(text string) bool { _, err := parseLogSize(text); return err == nil }},
}

const (
	hostFile   = "it is a file of the host, and a task definition names none"
	neverWaits = "a task starts whether its log is received or not"
	triedAgain = "what cannot be sent is tried again for as long as the host keeps it"
	caFile     = hostFile + "; the CAs that the host trusts are trusted"
)

// refused are options of ECS's log drivers that would have no effect, with the reason.
var refused = map[string]string{
	"awslogs-endpoint":                 "logs are kept by the host",
	"awslogs-credentials-endpoint":     "logs are kept by the host",
	"awslogs-format":                   "lines are kept as they are",
	"awslogs-stream":                   "a stream is named after its task; awslogs-stream-prefix goes before that",
	"syslog-tls-ca-cert":               caFile,
	"syslog-tls-cert":                  hostFile,
	"syslog-tls-key":                   hostFile,
	"fluentd-async-connect":            neverWaits,
	"fluentd-async-reconnect-interval": triedAgain,
	"fluentd-buffer-limit":             "what cannot be sent waits in the files of the host: max-size and max-file bound it",
	"fluentd-retry-wait":               triedAgain,
	"fluentd-max-retries":              triedAgain,
	"fluentd-write-timeout":            triedAgain,
	"gelf-tcp-max-reconnect":           triedAgain,
	"gelf-tcp-reconnect-delay":         triedAgain,
	"splunk-capath":                    caFile,
	"splunk-verify-connection":         neverWaits,
	"labels-regex":                     "name the labels in labels",
	"env-regex":                        "name the variables in env",
	"compress":                         "old files are kept as they are",
}

// Refused returns the reason why an option of ECS's log drivers is not supported; empty for any other name.
func Refused(name string) string { return refused[name] }

// drivers is the one table of log drivers. A driver that is added here is accepted in task definitions, required of hosts by
// its capability and passed to the logger, which must know it.
var drivers = []Driver{
	{Awslogs, slices.Concat(rotation, delivery, []Option{
		{optionGroup, wantLogName, isLogName}, {optionStreamPrefix, wantLogName, isLogName}, {Name: optionRegion},
		{optionCreateGroup, "true or false", func(text string) bool { return text == "true" || text == "false" }},
		{optionMultiline, "a regular expression of RE2 that the first line of each record matches", isPattern},
		{optionDatetime, "a time as strftime writes it, such as %Y-%m-%d %H:%M:%S, with which each record begins", isDatetimeFormat},
	})},
	{JSONFile, slices.Concat(rotation, delivery)},
	{Syslog, forwardOptions(Syslog, syslogOptions...)},
	{Fluentd, forwardOptions(Fluentd, fluentdOptions...)},
	{GELF, forwardOptions(GELF, gelfOptions...)},
	{Journald, forwardOptions(Journald)},
	{Splunk, forwardOptions(Splunk, splunkOptions...)},
	{Firelens, nil},
}

// All are the log drivers that hosts run. The list must not be changed.
func All() []Driver { return drivers }

// Routed reports whether the lines of a container are for the log router of its task.
func (l *Configuration) Routed() bool { return l != nil && l.LogDriver == Firelens }

// Names are the names of All.
func Names() (names []string) {
	for _, d := range drivers {
		names = append(names, d.Name)
	}
	return names
}

// Find is the log driver of that name.
func Find(name string) (driver Driver, known bool) {
	at := slices.IndexFunc(drivers, func(d Driver) bool { return d.Name == name })
	if at < 0 {
		return Driver{}, false
	}
	return drivers[at], true
}

// Awslogs are the log group and the stream prefix of a container with the driver awslogs; empty where it names none.
func (l *Configuration) Awslogs() (group, streamPrefix string) {
	if l == nil || l.LogDriver != Awslogs {
		return "", ""
	}
	return l.Options[optionGroup], l.Options[optionStreamPrefix]
}

// Configuration chooses the log driver (see All) and its options. The output is kept by the host's own logger, whatever the driver.
type Configuration struct {
	LogDriver     string             `json:"logDriver"`
	Options       map[string]string  `json:"options,omitempty"`
	SecretOptions []valuefrom.Secret `json:"secretOptions,omitempty" level:"1"` // options whose values are secrets; see Driver.AllowsSecret
}
