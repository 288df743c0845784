package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of the log drivers that hosts run.
const (
	LogDriverAwslogs  = "awslogs"
	LogDriverJSONFile = "json-file"
)

// LogDriver is one of ECS's log drivers.
type LogDriver struct {
	Name       string
	Capability string      // that a host must have
	Options    []LogOption // all that it has
}

// LogOption is an option of a log driver.
type LogOption struct {
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
var rotation = []LogOption{
	{optionMaxSize, fmt.Sprintf("a size such as 500k, 10m or 1g, at most %dg", MaxLogBytes>>30), func(text string) bool { _, err := parseLogSize(text); return err == nil }},
	{optionMaxFile, fmt.Sprintf("a number of files from 1 to %d", MaxLogFiles), isLogFiles},
}

func isLogFiles(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= MaxLogFiles
}

const wantLogName = "a name of at most 512 characters, none of which is a control character"

func isLogName(text string) bool {
	return utf8.RuneCountInString(text) <= 512 && !strings.ContainsFunc(text, unicode.IsControl)
}

// delivery are the options that say what becomes of a container whose log cannot be written. Here it never waits: its lines go to the
// disk at once, and those that do not fit are dropped and counted. So no buffer is larger than it may be.
var delivery = []LogOption{
	{optionMode, "non-blocking: a container never waits for its log here", func(text string) bool { return text == "non-blocking" }},
	{optionBufferSize, "a size such as 25m", func(text string) bool { _, err := parseLogSize(text); return err == nil }},
}

// refusedLogOptions are options of ECS's log drivers that would have no effect, with the reason.
var refusedLogOptions = map[string]string{
	"awslogs-datetime-format":      "each line is an event of its own",
	"awslogs-multiline-pattern":    "each line is an event of its own",
	"awslogs-endpoint":             "logs are kept by the host",
	"awslogs-credentials-endpoint": "logs are kept by the host",
	"awslogs-format":               "lines are kept as they are",
	"awslogs-stream":               "a stream is named after its task; awslogs-stream-prefix goes before that",
	"tag":                          "a stream is named after its task",
	"labels":                       "lines are kept as they are",
	"env":                          "lines are kept as they are",
	"compress":                     "old files are kept as they are",
}

// RefusedLogOption is why an option of ECS's log drivers is not supported; empty for any other name.
func RefusedLogOption(name string) string { return refusedLogOptions[name] }

// logDrivers is the one table of log drivers. A driver that is added here is accepted in task definitions, required of hosts by
// its capability and passed to the logger, which must know it.
var logDrivers = []LogDriver{
	{LogDriverAwslogs, CapabilityAwslogs, slices.Concat(rotation, delivery, []LogOption{
		{optionGroup, wantLogName, isLogName}, {optionStreamPrefix, wantLogName, isLogName}, {Name: optionRegion},
		{optionCreateGroup, "true or false", func(text string) bool { return text == "true" || text == "false" }},
	})},
	{LogDriverJSONFile, CapabilityJSONFile, slices.Concat(rotation, delivery)},
}

// LogDrivers are the log drivers that hosts run. The list must not be changed.
func LogDrivers() []LogDriver { return logDrivers }

// FindLogDriver is the log driver of that name.
func FindLogDriver(name string) (driver LogDriver, known bool) {
	at := slices.IndexFunc(logDrivers, func(d LogDriver) bool { return d.Name == name })
	if at < 0 {
		return LogDriver{}, false
	}
	return logDrivers[at], true
}

// Awslogs are the log group and the stream prefix of a container with the driver awslogs; empty where it names none.
func (l *LogConfiguration) Awslogs() (group, streamPrefix string) {
	if l == nil || l.LogDriver != LogDriverAwslogs {
		return "", ""
	}
	return l.Options[optionGroup], l.Options[optionStreamPrefix]
}
