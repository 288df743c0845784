package logdriver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Log drivers that send lines elsewhere. The host keeps them, too.
const (
	Syslog   = "syslog"
	Fluentd  = "fluentd"
	GELF     = "gelf"
	Journald = "journald"
	Splunk   = "splunk"
)

// addressing is the option by which a driver that sends lines elsewhere gets its destination.
type addressing struct {
	address  string            // the option that says where to; empty: it goes to the fallback
	fallback string            // where to when it does not; empty: it has to
	ports    map[string]string // default ports by scheme
}

// addressings are those of the drivers that send lines elsewhere.
var addressings = map[string]addressing{
	Syslog:   {"syslog-address", "unix:///dev/log", map[string]string{"udp": "514", "tcp": "514", "tcp+tls": "6514", "unix": "", "unixgram": ""}},
	Fluentd:  {"fluentd-address", "tcp://127.0.0.1:24224", map[string]string{"tcp": "24224", "tls": "24224", "unix": ""}},
	GELF:     {"gelf-address", "", map[string]string{"udp": "12201", "tcp": "12201"}},
	Splunk:   {"splunk-url", "", map[string]string{"https": "443", "http": "80"}},
	Journald: {"", "unix:///run/systemd/journal/socket", map[string]string{"unix": ""}},
}

// Forwards reports whether the driver of a container sends its lines elsewhere.
func (l *Configuration) Forwards() bool {
	if l == nil {
		return false
	}
	_, is := addressings[l.LogDriver]
	return is
}

// Destination returns the destination of the lines, of a configuration that Forwards.
func (l *Configuration) Destination() (Destination, error) {
	a := addressings[l.LogDriver]
	text := cmp.Or(l.Options[a.address], a.fallback)
	if text == "" {
		return Destination{}, fmt.Errorf("option %s of %s is missing", a.address, l.LogDriver)
	}
	return a.parse(text)
}

// parse reads an address. That of fluentd may be without a scheme, which is tcp then.
func (a addressing) parse(text string) (Destination, error) {
	if a.address == "fluentd-address" && !strings.Contains(text, "://") {
		text = "tcp://" + text
	}
	return parseDestination(text, a.ports)
}

// CheckForward returns an error for what a configuration lacks that Forwards, beside wrong values of options; nil for any other.
func (l *Configuration) CheckForward() error {
	if !l.Forwards() {
		return nil
	}
	if l.LogDriver == Splunk && !l.has(optionSplunkToken) {
		return fmt.Errorf("option %s of %s is missing: secretOptions names its secret", optionSplunkToken, Splunk)
	}
	_, err := l.Destination()
	return err
}

// tagCodes are the fields that a tag may name, as templates of Docker write them.
var tagCodes = []string{"{{.ID}}", "{{.FullID}}", "{{.Name}}", "{{.ImageName}}", "{{.DaemonName}}"}

// Tag is the tag of a container: the option tag with its codes, which are written without blanks here, replaced; empty where there is no option.
func (l *Configuration) Tag(id, fullID, name, image string) string {
	text := strings.NewReplacer("{{ ", "{{", " }}", "}}").Replace(l.Options["tag"])
	return strings.NewReplacer("{{.ID}}", id, "{{.FullID}}", fullID, "{{.Name}}", name, "{{.ImageName}}", image, "{{.DaemonName}}", "pinion").Replace(text)
}

func isTag(text string) bool {
	left := (&Configuration{Options: map[string]string{"tag": text}}).Tag("", "", "", "")
	return isLogName(text) && !strings.Contains(left, "{{")
}

func oneOf(values ...string) func(string) bool {
	return func(text string) bool { return slices.Contains(values, text) }
}

func boolean(name string) Option { return Option{name, "true or false", oneOf("true", "false")} }

// described are the options by which every driver that sends lines says whose they are.
var described = []Option{
	{"tag", "a text of at most 512 characters with none of Docker's codes but " + strings.Join(tagCodes, ", "), isTag},
	{"labels", "names of labels with commas between", isLogName}, {"env", "names of variables with commas between", isLogName},
}

// addressOption is the option that says where a driver sends its lines.
func addressOption(driver string) Option {
	a := addressings[driver]
	schemes := make([]string, 0, len(a.ports))
	for scheme := range a.ports {
		schemes = append(schemes, scheme)
	}
	slices.Sort(schemes)
	return Option{a.address, fmt.Sprintf("SCHEME://HOST:PORT or SCHEME:///PATH with one of the schemes %s", strings.Join(schemes, ", ")), func(text string) bool {
		_, err := a.parse(text)
		return err == nil
	}}
}

// forwardOptions are the options of a driver that sends lines elsewhere.
func forwardOptions(driver string, own ...Option) []Option {
	if addressings[driver].address != "" {
		own = append([]Option{addressOption(driver)}, own...)
	}
	return slices.Concat(own, described, rotation, delivery)
}

// Facility is the number of a facility of RFC 5424 by its name or its number.
func Facility(text string) (number int, known bool) {
	if text == "" {
		return facilityDaemon, true
	}
	if n := slices.Index(facilities, text); n >= 0 {
		return n, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= maxFacility
}

const facilityDaemon, maxFacility = 3, 23

// facilities are the names of facilities by number. 12 to 15 have none that Docker knows.
var facilities = strings.Split("kern user mail daemon auth syslog lpr news uucp cron authpriv ftp - - - - local0 local1 local2 local3 local4 local5 local6 local7", " ")

func isFacility(text string) bool {
	_, known := Facility(text)
	return known && text != "" && text != "-"
}

var syslogOptions = []Option{
	{"syslog-facility", "a facility such as daemon or local0", isFacility},
	{"syslog-format", "rfc3164, rfc5424 or rfc5424micro", oneOf("rfc3164", "rfc5424", "rfc5424micro")},
	boolean("syslog-tls-skip-verify"),
}

var fluentdOptions = []Option{boolean("fluentd-async"), boolean("fluentd-request-ack"), boolean("fluentd-sub-second-precision")}

var splunkOptions = []Option{
	{optionSplunkToken, "a token", isLogName}, {"splunk-source", "a name", isLogName}, {"splunk-sourcetype", "a name", isLogName}, {"splunk-index", "a name", isLogName},
	{"splunk-format", "inline, json or raw", oneOf("inline", "json", "raw")}, {"splunk-caname", "the name in the certificate of the collector", isLogName},
	boolean("splunk-insecureskipverify"), boolean("splunk-gzip"), level("splunk-gzip-level"),
}

func level(name string) Option {
	return Option{name, "a number from -1 to 9", oneOf("-1", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")}
}

var gelfOptions = []Option{
	{"gelf-compression-type", "gzip, zlib or none", oneOf("gzip", "zlib", "none")},
	level("gelf-compression-level"),
}
