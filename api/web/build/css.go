package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// styleSheets has the terminal style itself by means that the page's content security policy allows. As it is published, xterm writes style elements
// and style attributes, which the policy would have to allow to everything. Here it makes elements of the page's own, which adopt a style sheet each
// (api/web/ui/terminal.js), and sets properties.
var styleSheets = api.Plugin{Name: "style sheets", Setup: func(build api.PluginBuild) {
	build.OnLoad(api.OnLoadOptions{Filter: `/@xterm/xterm/lib/xterm\.mjs$`}, func(file api.OnLoadArgs) (api.OnLoadResult, error) {
		source, err := os.ReadFile(file.Path)
		text := string(source)
		for _, s := range inlineStyles {
			if found := strings.Count(text, s.what); err == nil && found != s.times {
				err = fmt.Errorf("%s has %s %d times, not %d: see how this version of it styles itself", file.Path, s.what, found, s.times)
			}
			text = strings.ReplaceAll(text, s.what, s.by)
		}
		return api.OnLoadResult{Contents: &text}, err
	})
}}

// inlineStyles are the places where the pinned version of xterm writes styles into the document.
var inlineStyles = []struct {
	what  string
	times int
	by    string
}{
	{`createElement("style")`, 3, `createElement("style-sheet")`},
	{`t.setAttribute("style",`, 1, `Reflect.set(t.style,"cssText",`},
}
