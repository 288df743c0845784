package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// merge lays the variables of a file over an environment.
func merge(env []string, variables string) []string {
	for entry := range strings.SplitSeq(strings.TrimSuffix(variables, "\x00"), "\x00") {
		name, _, is := strings.Cut(entry, "=")
		if !is {
			continue
		}
		env = slices.DeleteFunc(slices.Clone(env), func(known string) bool { return strings.HasPrefix(known, name+"=") })
		env = append(env, entry)
	}
	return env
}

// find is the path of a command: as it is when it has a slash, otherwise in the directories of PATH. ENOENT when it is nowhere.
func find(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	wrong := error(unix.ENOENT)
	for _, entry := range env {
		path, is := strings.CutPrefix(entry, "PATH=")
		if !is {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			candidate := filepath.Join(dir, command)
			if !strings.Contains(candidate, "/") {
				candidate = "./" + candidate
			}
			info, err := os.Stat(candidate)
			if err != nil || info.IsDir() {
				continue
			}
			if err := unix.Access(candidate, unix.X_OK); err == nil {
				return candidate, nil
			}
			wrong = unix.EACCES
		}
	}
	return "", wrong
}
