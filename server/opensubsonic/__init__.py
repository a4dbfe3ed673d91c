"""The OpenSubsonic API under `/rest`, for music players."""
