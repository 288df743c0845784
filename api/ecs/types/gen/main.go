// Command gen writes the wire types of package types from the service model of Amazon ECS and the overlay in this folder.
// Run it with go generate ./api/ecs/types.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"pinion/api/ecs/internal/model"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes the generated files into a folder.
func run(dir string) error {
	m, err := model.Load()
	if err != nil {
		return err
	}
	files, err := generate(m)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
