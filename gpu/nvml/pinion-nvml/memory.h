struct memory_test {
	unsigned long long mib;    // tested
	unsigned long long errors; // words that were not what was written, of all patterns so far
	const char *failed_call;   // NULL: none
	int code;                  // CUDA's error of the failed call
};

// test_memory writes the pattern into the free memory of the first GPU that CUDA shows, and counts the words that differ.
void test_memory(const char *ptx, unsigned int pattern, struct memory_test *result);
