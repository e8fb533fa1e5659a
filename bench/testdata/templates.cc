// What cc1plus compiles: templates of the standard library over STORES types,
// and one that recurses.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

template <int N> struct tag {
	int value = N;
	bool operator<(const tag &o) const { return value < o.value; }
	bool operator==(const tag &o) const { return value == o.value; }
};

template <int N> struct fibonacci {
	static constexpr long value = fibonacci<N - 1>::value + fibonacci<N - 2>::value;
};
template <> struct fibonacci<0> { static constexpr long value = 0; };
template <> struct fibonacci<1> { static constexpr long value = 1; };

// store is a container of everything for one tag.
template <int N> class store {
	using key = tag<N>;
	std::map<key, std::vector<std::string>> lists;
	std::map<std::string, std::shared_ptr<key>> names;
	std::set<std::pair<key, std::string>> order;

public:
	void add(key k, const std::string &name)
	{
		lists[k].push_back(name + std::to_string(fibonacci<N % 40>::value));
		names.emplace(name, std::make_shared<key>(k));
		order.insert({k, name});
	}

	std::string first() const { return order.empty() ? "" : order.begin()->second; }

	template <class Weigh> long sum(Weigh weigh) const
	{
		std::vector<long> all;
		std::transform(lists.begin(), lists.end(), std::back_inserter(all),
			[&](const auto &entry) { return weigh(entry.first) * long(entry.second.size()); });
		std::sort(all.begin(), all.end(), [](long a, long b) { return a > b; });
		return std::accumulate(all.begin(), all.end(), 0L);
	}
};

template <int... N> long each(std::integer_sequence<int, N...>)
{
	std::tuple<store<N>...> stores;
	(std::get<N>(stores).add(tag<N>{}, "name"), ...);
	long total = 0;
	((total += std::get<N>(stores).sum([](const tag<N> &t) { return long(t.value); })), ...);
	((total += long(std::get<N>(stores).first().size())), ...);
	return total;
}

long work() { return each(std::make_integer_sequence<int, STORES>()); }
