package barrier

// Least returns how many units have to enter before the barrier can fire; 0 says that it
// waits for no number of them: time or a callback decides, or it is a semaphore.
func (c Config) Least() int {
	if c.Semaphore.on() || c.Timeout > 0 || c.Callback {
		return 0
	}
	least := c.Max
	if c.Percent > 0 {
		least = min(least, c.share(c.Percent))
	}
	if c.Knee.on() { // which a second arrival arms
		least = min(least, max(2, c.share(c.Knee.Percent)))
	}
	return least
}

// share returns how many units are a percentage of Max, at least one.
func (c Config) share(percent int) int { return max(1, (c.Max*percent+99)/100) }
