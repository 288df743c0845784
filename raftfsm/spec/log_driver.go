package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	Options    []LogOption // those with an effect; others are recorded and shown
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
)

// rotation are the options by which the logger bounds the files of a container, whatever its driver.
var rotation = []LogOption{
	{optionMaxSize, "a size such as 500k, 10m or 1g", func(text string) bool { _, err := parseLogSize(text); return err == nil }},
	{optionMaxFile, "a number of files from 1", positiveNumber.MatchString},
}

// logDrivers is the one table of log drivers. A driver that is added here is accepted in task definitions, required of hosts by
// its capability and passed to the logger, which must know it.
var logDrivers = []LogDriver{
	{LogDriverAwslogs, CapabilityAwslogs, slices.Concat(rotation, []LogOption{{Name: optionGroup}, {Name: optionStreamPrefix}})},
	{LogDriverJSONFile, CapabilityJSONFile, rotation},
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

// Rotation are the bounds of a container's log: bytes of one file, and files kept. 0 is the logger's default.
func (l *LogConfiguration) Rotation() (maxSize int64, maxFiles int, err error) {
	if l == nil {
		return 0, 0, nil
	}
	if text := l.Options[optionMaxSize]; text != "" {
		if maxSize, err = parseLogSize(text); err != nil {
			return 0, 0, fmt.Errorf("log option %s: %w", optionMaxSize, err)
		}
	}
	if text := l.Options[optionMaxFile]; text != "" {
		if maxFiles, err = strconv.Atoi(text); err != nil || maxFiles < 1 {
			return 0, 0, fmt.Errorf("log option %s: %q is not a number of files, at least 1", optionMaxFile, text)
		}
	}
	return maxSize, maxFiles, nil
}

// Awslogs are the log group and the stream prefix of a container with the driver awslogs; empty where it names none.
func (l *LogConfiguration) Awslogs() (group, streamPrefix string) {
	if l == nil || l.LogDriver != LogDriverAwslogs {
		return "", ""
	}
	return l.Options[optionGroup], l.Options[optionStreamPrefix]
}

var (
	positiveNumber = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)
	logSize        = regexp.MustCompile(`^([1-9][0-9]{0,8})([kmg]?)b?$`)
)

// parseLogSize reads a size as docker writes it: "10m", "1g", "500k", or bytes.
func parseLogSize(text string) (int64, error) {
	parts := logSize.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 10m or 1g", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	return n << map[string]int{"k": 10, "m": 20, "g": 30}[parts[2]], err
}
