//build: -O2
// A container of our own whose growth is inlined three deep through a
// template and two methods; std::vector and std::string beside it.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace shop {

template <class T> class Buffer {
public:
	~Buffer() { delete[] data_; }
	__attribute__((always_inline)) void push(const T &v)
	{
		if (used_ == room_)
			grow(room_ == 0 ? 4 : room_ * 2);
		data_[used_++] = v;
	}
	std::size_t size() const { return used_; }
	const T &operator[](std::size_t i) const { return data_[i]; }

private:
	__attribute__((always_inline)) void grow(std::size_t room)
	{
		T *bigger = allocate(room);
		for (std::size_t i = 0; i < used_; i++)
			bigger[i] = data_[i];
		delete[] data_;
		data_ = bigger;
		room_ = room;
	}
	__attribute__((always_inline)) static T *allocate(std::size_t n) { return new T[n]; }

	T *data_ = nullptr;
	std::size_t used_ = 0, room_ = 0;
};

__attribute__((noinline)) long fill(Buffer<long> &b, int n)
{
	for (int i = 0; i < n; i++)
		b.push(i);
	return b[b.size() - 1];
}

struct Item {
	virtual ~Item() = default;
	virtual std::string name() const { return std::string(100, 'x'); }
};

struct Other final : Item {
	__attribute__((noinline)) std::string name() const override { return Item::name() + "other"; }
};

} // namespace shop

int main()
{
	shop::Buffer<long> b;
	long last = shop::fill(b, 100);
	std::vector<std::string> names;
	shop::Other other;
	for (int i = 0; i < 5; i++)
		names.push_back(other.name());
	auto total = [&](int k) {
		std::vector<int> v(k * 1000);
		return static_cast<long>(v.size() + names.size());
	};
	std::printf("%ld %ld\n", last, total(3));
}
