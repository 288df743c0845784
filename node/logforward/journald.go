package logforward

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/node/logs"
)

// journald writes entries of systemd's native protocol with the fields of Docker's driver.
type journald struct {
	note *forwardRecord
	tag  string
}

func (j journald) encode(lines []logs.StreamLine) (messages [][]byte) {
	for i := range lines {
		rest := lines[i].Text
		for text := range pieces(lines[i].Text, maxPacketText) {
			rest = rest[len(text):]
			messages = append(messages, j.encodeLine(&lines[i], text, lines[i].Partial || rest != ""))
		}
	}
	return messages
}

func (j journald) encodeLine(l *logs.StreamLine, text string, partial bool) []byte {
	severity := severityInfo
	if l.Stderr {
		severity = severityError
	}
	fields := map[string]string{}
	for name, value := range j.note.Extra {
		fields[journalField(name)] = value
	}
	maps.Copy(fields, map[string]string{
		"MESSAGE": text, "PRIORITY": strconv.Itoa(severity), "SYSLOG_IDENTIFIER": j.tag, "SYSLOG_TIMESTAMP": l.Time.Format("2006-01-02T15:04:05.999999999Z07:00"),
		"CONTAINER_ID": j.note.Short, "CONTAINER_ID_FULL": j.note.ID, "CONTAINER_NAME": j.note.ID, "CONTAINER_TAG": j.tag, "IMAGE_NAME": j.note.Image,
	})
	if partial {
		fields["CONTAINER_PARTIAL_MESSAGE"] = "true"
	}
	var m []byte
	for _, name := range slices.Sorted(maps.Keys(fields)) { // with its length, so that no value can begin another field
		m = append(append(m, name...), '\n')
		m = binary.LittleEndian.AppendUint64(m, uint64(len(fields[name])))
		m = append(append(m, fields[name]...), '\n')
	}
	return m
}

// journalField is the name of a label or a variable as the journal takes it: of capitals, digits and _, and not one that begins with _ or a digit,
// which are the journal's own.
func journalField(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
	name = strings.TrimLeft(name, "_0123456789")
	if name == "" || isOfAnother(name) {
		name = strings.TrimSuffix("LABEL_"+name, "_")
	}
	return name[:min(len(name), 64)]
}

// isOfAnother reports whether the journal takes a field, from a service of root, as one about another unit, process or message: `journalctl -u sshd`
// would show the line.
func isOfAnother(field string) bool {
	for _, prefix := range []string{"OBJECT_", "COREDUMP", "CODE_", "SYSLOG_"} {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"UNIT", "USER_UNIT", "MESSAGE_ID", "INVOCATION_ID", "USER_INVOCATION_ID", "ERRNO", "TID", "DOCUMENTATION"}, field)
}
