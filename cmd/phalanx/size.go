package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The units of sizes; KB is 1024 bytes.
var units = []string{"B", "KB", "MB", "GB", "TB", "PB"}

// formatSize returns, for example, "1.5 MB".
func formatSize(n int64) string {
	if n < 0 {
		return "unknown"
	}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// parseSize reads "512MB", "4 GiB" or a number of bytes.
func parseSize(s string) (int64, error) {
	text := strings.ToUpper(strings.TrimSpace(s))
	digits := strings.TrimRight(text, "BKMGTPI ")
	unit := strings.TrimSpace(text[len(digits):])
	if unit != "" && unit != "B" {
		unit = unit[:1] + "B" // K, KB and KIB
	}
	n, err := strconv.ParseFloat(digits, 64)
	for _, u := range units {
		if unit == "" || unit == u {
			if err == nil && n >= 0 && n < math.MaxInt64 { // nor NaN
				return int64(n), nil
			}
			break
		}
		n *= 1024
	}
	return 0, fmt.Errorf("%q is not a size such as 65536, 512MB or 4GB", s)
}
