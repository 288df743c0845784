// Package firelens is ECS's FireLens: a container of a task, the log router, is given the lines of others, whose log driver is awsfirelens.
package firelens

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Types of a router: what program it runs.
const (
	Fluentd   = "fluentd"
	FluentBit = "fluentbit"
)

// Types are all of them.
var Types = []string{Fluentd, FluentBit}

// Options of a router.
const (
	optionMetadata = "enable-ecs-log-metadata"
	optionFileType = "config-file-type"
	optionFile     = "config-file-value"
	fileTypeFile   = "file"
)

// Options of a container with the log driver awsfirelens that are none of its output.
const (
	// IncludePattern and ExcludePattern are regular expressions: only lines that match, and only those that do not, are routed.
	IncludePattern = "include-pattern"
	ExcludePattern = "exclude-pattern"
	// BufferLimit bounds the lines that Docker keeps for the router. Here they are in the files of the log.
	BufferLimit = "log-driver-buffer-limit"
)

const (
	// maxOptions, maxName and maxValue bound what a container says of its output: each option is a line of the router's configuration.
	maxOptions, maxName, maxValue = 100, 128, 4 << 10
	maxPath                       = 1024
)

// Configuration is ECS's firelensConfiguration: it makes a container the log router of its task.
type Configuration struct {
	Type    string            `json:"type"` // of Types
	Options map[string]string `json:"options,omitempty"`
}

// Metadata reports whether the router adds the names of cluster, task and task definition to each record.
func (c *Configuration) Metadata() bool { return c.Options[optionMetadata] != "false" }

// File is the path of a file of the router's image that is part of its configuration; empty: there is none.
func (c *Configuration) File() string { return c.Options[optionFile] }

// OutputOption is the option that names the plugin of an output.
func (c *Configuration) OutputOption() string {
	if c.Type == Fluentd {
		return "@type"
	}
	return "Name"
}

// Check returns an error for a wrong configuration.
func (c *Configuration) Check() error {
	if !slices.Contains(Types, c.Type) {
		return fmt.Errorf("type must be one of %s, not %.100q", strings.Join(Types, ", "), c.Type)
	}
	for name, value := range c.Options {
		switch name {
		case optionMetadata:
			if value != "true" && value != "false" {
				return fmt.Errorf("%s must be true or false, not %.100q", name, value)
			}
		case optionFileType:
			if value == "s3" {
				return errors.New("config-file-type s3 has no place on hosts that are not in AWS: put the file into the image and name it with config-file-type file")
			}
			if value != fileTypeFile {
				return fmt.Errorf("%s must be %s, not %.100q", name, fileTypeFile, value)
			}
		case optionFile:
			if err := checkFile(value); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%.100q is no option of FireLens: there are %s, %s, %s", name, optionMetadata, optionFileType, optionFile)
		}
	}
	if (c.Options[optionFileType] == "") != (c.Options[optionFile] == "") {
		return fmt.Errorf("%s and %s go together", optionFileType, optionFile)
	}
	return nil
}

func checkFile(value string) error {
	switch {
	case !path.IsAbs(value) || len(value) > maxPath || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }):
		return fmt.Errorf("%s must be the absolute path of a file in the router's image, without blanks, not %.300q", optionFile, value)
	case strings.HasSuffix(value, ".yaml") || strings.HasSuffix(value, ".yml"):
		return fmt.Errorf("%s %.300q is YAML: the configuration that includes it has Fluent Bit's classic format", optionFile, value)
	}
	return nil
}

// CheckOptions returns an error for wrong options of a container whose lines the router gets; secret are the names of those whose values are secrets.
func (c *Configuration) CheckOptions(options map[string]string, secret []string) error {
	if len(options)+len(secret) > maxOptions {
		return fmt.Errorf("there can be %d options, not %d", maxOptions, len(options)+len(secret))
	}
	outputs := 0
	check := func(name, value string) error {
		if !slices.Contains([]string{IncludePattern, ExcludePattern, BufferLimit, c.OutputOption()}, name) {
			outputs++
		}
		if err := checkName(name, c.Type); err != nil {
			return err
		}
		return checkValue(name, value, c.Type)
	}
	for name, value := range options {
		if err := check(name, value); err != nil {
			return err
		}
	}
	for _, name := range secret {
		if slices.Contains([]string{IncludePattern, ExcludePattern, BufferLimit}, name) {
			return fmt.Errorf("%s is no secret: name it in options", name)
		}
		if err := check(name, ""); err != nil {
			return err
		}
	}
	if options[c.OutputOption()] == "" && outputs > 0 {
		return fmt.Errorf("option %s is missing: it names the plugin of the output, as a router of type %s has it", c.OutputOption(), c.Type)
	}
	return nil
}

// checkName refuses what is no name of an option, and a directive that would be more than one.
func checkName(name, routerType string) error {
	bare, special := strings.CutPrefix(name, "@")
	wrong := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-$", r)
	}
	switch {
	case bare == "" || len(name) > maxName || strings.ContainsFunc(bare, wrong):
		return fmt.Errorf("%.300q is no name of an option: it has letters, digits and _ . - $, and %d characters at most", name, maxName)
	case special && (routerType != Fluentd || !slices.Contains([]string{"type", "id", "label", "log_level"}, bare)):
		return fmt.Errorf("%q is no option of an output of %s", name, routerType)
	}
	return nil
}

// checkValue refuses what is not one line of the configuration, whatever the router makes of it.
func checkValue(name, value, routerType string) error {
	switch {
	case len(value) > maxValue:
		return fmt.Errorf("option %s has %d bytes: the most is %d", name, len(value), maxValue)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("option %s has a control character, or is no UTF-8: it has to be one line of the router's configuration", name)
	case routerType == Fluentd && !closed(strings.TrimSpace(value)):
		return fmt.Errorf("option %s begins with a quote or a bracket, and does not end with it: fluentd would read on in the lines after it", name)
	}
	return nil
}

// closed reports whether fluentd reads a value to the end of its line and no further. A text in quotes, an array and an object go over lines.
func closed(value string) bool {
	if value == "" {
		return true
	}
	switch quote := value[0]; quote {
	case '"', '\'':
		for i := 1; i < len(value); i++ {
			switch value[i] {
			case '\\':
				i++
			case quote:
				return i == len(value)-1
			}
		}
		return false
	case '[', '{':
		return json.Valid([]byte(value))
	}
	return true
}

// SecretVariable is the name of the variable of the router's environment with a secret option of the container of that place in the task definition.
func SecretVariable(option string, container int) string {
	return fmt.Sprintf("%s_%d", option, container)
}
