package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// licences are the directories of the modules that this repository is built from, by path: their licences lie there.
type licences map[string]string

func findLicences(root string) (licences, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m all: %w", err)
	}
	found := licences{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found[path] = dir
	}
	return found, nil
}

// of names the licences of a module as SPDX does; nil when its files are none that are known.
func (l licences) of(path string) *cyclonedx.Licenses {
	var ids []string
	for _, file := range l.files(path) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // which writeTexts says
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	return licence(slices.Compact(ids)...)
}

// files are the files of a module with its licences and notices.
func (l licences) files(path string) (all []string) {
	if l[path] == "" {
		return nil
	}
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "License*", "license*", "NOTICE*"} {
		found, _ := filepath.Glob(filepath.Join(l[path], pattern))
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				all = append(all, file)
			}
		}
	}
	return all
}

func licence(ids ...string) *cyclonedx.Licenses {
	if len(ids) == 0 {
		return nil
	}
	var all cyclonedx.Licenses
	for _, id := range ids {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &all
}
