package workflow_test

import "os"

// temporary returns a folder for an example, and removes it.
func temporary() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "workflows")
	if err != nil {
		panic(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}
